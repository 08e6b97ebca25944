#!/bin/sh
# Lays out a forum of some posts in a folder: posts/N, and a build.ninja that renders a page for each, with a sidebar of
# all titles in every page. Then: larder serve -C FOLDER --site site. Usage: make_forum.sh RENDER FOLDER [POSTS]
set -eu
render=$(realpath "$1")
folder=$2
posts=${3:-1000}
mkdir -p "$folder/posts"
cd "$folder"
for i in $(seq "$posts"); do
  printf 'Title of post %s\nWhat post %s says.\n' "$i" "$i" >"posts/$i"
done
{
  cat <<END
rule title
  command = $render title \$in \$out
rule sidebar
  command = $render sidebar \$out.rsp \$out
  rspfile = \$out.rsp
  rspfile_content = \$in_newline
rule page
  command = $render page \$in \$out
build sidebar.html: sidebar $(seq -f 'titles/%g' -s ' ' "$posts")
END
  for i in $(seq "$posts"); do
    echo "build titles/$i: title posts/$i"
    echo "build site/$i.html: page posts/$i sidebar.html"
  done
} >build.ninja
