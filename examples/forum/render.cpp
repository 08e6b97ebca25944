// Renders a forum: a post is a file whose first line is its title and whose other lines are what was said.
//   render title POST TITLE               the title alone, so that what was said ends there
//   render sidebar LIST SIDEBAR           links to all posts, from the titles whose paths stand in LIST
//   render page POST SIDEBAR PAGE         the post with the sidebar
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

// `titles/17` is about `17`.
std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string title(std::istream& post) {
  std::string line;
  std::getline(post, line);
  return escaped(line);
}

std::string sidebar(std::istream& list) {
  std::string out = "<ul>\n";
  for (std::string path; std::getline(list, path);) {
    std::ifstream file(path);
    out += "<li><a href=\"" + name_of(path) + ".html\">";
    std::string line;
    std::getline(file, line);
    out += line + "</a>\n";
  }
  return out + "</ul>\n";
}

std::string page(std::istream& post, std::istream& side) {
  const std::string head = title(post);
  std::string out = "<!doctype html>\n<title>" + head + "</title>\n<body>\n<h1>" + head + "</h1>\n";
  for (std::string line; std::getline(post, line);) out += "<p>" + escaped(line) + "\n";
  std::ostringstream text;
  text << side.rdbuf();
  return out + text.str() + "</body>\n";
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const bool is_page = what == "page";
  if (count != (is_page ? 5 : 4) || (!is_page && what != "title" && what != "sidebar")) {
    std::cerr << "usage: render title POST TITLE | sidebar LIST SIDEBAR | page POST SIDEBAR PAGE\n";
    return 2;
  }
  std::ifstream in(words[2]);
  std::ifstream side(is_page ? words[3] : words[2]);
  if (!in || !side) {
    std::cerr << "render: cannot read " << words[2] << (is_page ? std::string(" or ") + words[3] : "")
              << '\n';
    return 1;
  }
  std::ofstream out(words[count - 1]);
  out << (is_page ? page(in, side) : what == "title" ? title(in) + '\n' : sidebar(in));
  return out.flush() ? 0 : 1;
}
