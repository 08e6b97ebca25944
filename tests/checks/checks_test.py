#!/usr/bin/env python3
"""The checks of scripts/ turn red when they should: each is run on a small tree that breaks one rule.

Usage: checks_test.py SOURCE_DIR
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop())


class Floors(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "scripts").mkdir()
        shutil.copy(SOURCE / "scripts/check_floors.py", self.root / "scripts")
        for name, floor in (("low", 0), ("high", 1)):
            (self.root / "src" / name).mkdir(parents=True)
            (self.root / "src" / name / ".deps").write_text(f"floor {floor}\n")
        (self.root / "include").mkdir()

    def run_check(self):
        done = subprocess.run([sys.executable, self.root / "scripts/check_floors.py"], capture_output=True, text=True)
        return done.returncode, done.stderr

    def write(self, place, text):
        (self.root / place).write_text(text)

    def test_accepts_a_tidy_tree(self):
        self.write("src/high/.deps", "floor 1\nlow\n")
        self.write("src/high/a.cpp", '#include "low/b.hpp"\n')
        self.assertEqual(self.run_check()[0], 0)

    def test_refuses_a_header_that_no_file_includes(self):
        self.write("src/low/left.hpp", "")
        self.assertIn("src/low/left.hpp: no file includes it", self.run_check()[1])
        self.write("src/low/a.cpp", '#include "low/left.hpp"\n')
        self.assertEqual(self.run_check()[0], 0)

    def test_refuses_an_unlisted_floor(self):
        self.write("src/high/a.cpp", '#include "low/b.hpp"\n')
        code, said = self.run_check()
        self.assertEqual(code, 1)
        self.assertIn("low is not in high/.deps", said)

    def test_refuses_a_dependency_upwards(self):
        self.write("src/low/.deps", "floor 0\nhigh\n")
        self.assertIn("does not stand below", self.run_check()[1])

    def test_refuses_an_unlisted_public_header(self):
        self.write("src/low/a.cpp", '#include "larder/recipe.hpp"\n')
        self.assertEqual(self.run_check()[0], 1)

    def test_refuses_a_folder_without_rules(self):
        (self.root / "src/low/.deps").unlink()
        self.assertIn("no .deps", self.run_check()[1])

    def test_refuses_a_heavy_header_in_two_places(self):
        self.write("src/low/a.cpp", "#include <nlohmann/json.hpp>\n")
        self.write("src/low/b.cpp", "#include <nlohmann/json.hpp>\n")
        self.assertIn("more than one source file", self.run_check()[1])


class Ledger(unittest.TestCase):
    HEADER = "clause\tcontract\ttests\tbar\tfigure\tstate\n"

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        for folder in ("scripts", "docs", "bin", "tests"):
            (self.root / folder).mkdir()
        shutil.copy(SOURCE / "scripts/check_ledger.py", self.root / "scripts")
        self.write("tests/t.cpp", "TEST(Suite, Asserts) { EXPECT_EQ(1, 1); }\nTEST(Suite, Sleeps) { int a = 1; }\n")
        self.write("CTestTestfile.cmake",
                   "add_test(Suite.Asserts /bin/true)\nadd_test(Suite.Sleeps /bin/true)\n"
                   "add_test(Suite.Off /bin/true)\nset_tests_properties(Suite.Off PROPERTIES DISABLED TRUE)\n")

    def write(self, place, text):
        (self.root / place).write_text(text)

    def verdict(self, *rows):
        self.write("docs/acceptance.tsv", self.HEADER + "".join(row + "\n" for row in rows))
        done = subprocess.run([sys.executable, self.root / "scripts/check_ledger.py", self.root],
                              capture_output=True, text=True)
        return done.returncode, done.stderr

    def test_accepts_a_true_row(self):
        self.assertEqual(self.verdict("a\t-\tSuite.Asserts\t-\t-\tdone"), (0, ""))

    def test_refuses_a_test_that_does_not_exist(self):
        self.assertIn("no test Suite.Gone", self.verdict("a\t-\tSuite.Gone\t-\t-\tdone")[1])

    def test_refuses_a_disabled_test(self):
        self.assertIn("disabled", self.verdict("a\t-\tSuite.Off\t-\t-\tdone")[1])

    def test_refuses_a_test_that_asserts_nothing(self):
        self.assertIn("asserts nothing", self.verdict("a\t-\tSuite.Sleeps\t-\t-\tdone")[1])

    def test_refuses_a_done_row_that_shows_nothing(self):
        self.assertIn("neither a test nor a command", self.verdict("a\t-\t-\t-\t-\tdone")[1])

    def test_refuses_a_contract_that_does_not_exist(self):
        self.assertIn("no file", self.verdict("a\tinclude/gone.hpp\tSuite.Asserts\t-\t-\tdone")[1])

    def test_lets_open_rows_be_open(self):
        self.assertEqual(self.verdict("a\t-\tSuite.Gone\t-\t-\topen")[0], 0)

    def test_refuses_an_unknown_name_in_the_peer_scenarios(self):
        self.write("docs/peer-scenarios.md", "| a scenario | `Suite.Gone` |\n")
        self.assertIn("no test Suite.Gone", self.verdict()[1])


if __name__ == "__main__":
    unittest.main()
