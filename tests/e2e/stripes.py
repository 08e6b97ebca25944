"""Draws stripes without a window, with moderngl, and prints the renderer and a digest of the picture. A word may say how
narrow they are."""
import hashlib
import struct
import sys

import moderngl

VERTEX = """#version 330
in vec2 at;
void main() { gl_Position = vec4(at, 0, 1); }
"""
FRAGMENT = """#version 330
uniform float step;
out vec4 colour;
void main() {
  float sum = 0.0;
  for (int i = 0; i < 8; i++) sum += sin(step * float(i) + gl_FragCoord.x * NARROW);
  colour = vec4(fract(sum), gl_FragCoord.y / 64.0, step, 1);
}
"""
context = moderngl.create_standalone_context(backend="egl")
program = context.program(vertex_shader=VERTEX,
                          fragment_shader=FRAGMENT.replace("NARROW", sys.argv[1] if len(sys.argv) > 1 else "0.1"))
program["step"].value = 0.25
corners = context.buffer(struct.pack("8f", -1, -1, 1, -1, -1, 1, 1, 1))
frame = context.simple_framebuffer((64, 64))
frame.use()
frame.clear()
context.simple_vertex_array(program, corners, "at").render(moderngl.TRIANGLE_STRIP)
print(context.info["GL_RENDERER"], hashlib.sha256(frame.read()).hexdigest())
