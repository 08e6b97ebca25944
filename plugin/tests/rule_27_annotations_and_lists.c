// Rule 27: what must not depend on time opts out; what looks cheap opts in.
// OPTIONS: deny=$DIR/deny
// OPTIONS: allow=$DIR/allow
// FILE deny: # constant-time code
// FILE deny: listed
// FILE allow: cheap_but_listed
// REMARK: annotated: not memoized: an annotation denies it
// REMARK: listed: not memoized: a list denies it
// REMARK: cheap_but_annotated: memoized
// REMARK: cheap_but_listed: memoized
__attribute__((annotate("noreuse"))) int annotated(int n) { return n < 2 ? n : annotated(n - 1) + annotated(n - 2); }
int listed(int n) { return n < 2 ? n : listed(n - 1) + listed(n - 2); }
__attribute__((annotate("reuse"))) int cheap_but_annotated(int n) { return n * n + 3; }
int cheap_but_listed(int n) { return n * n + 4; }
