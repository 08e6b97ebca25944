// A profile that is none is an error that names file and line.
// OPTIONS: profile=$DIR/profile
// FILE profile: reuse1\tany\t1\t2\t3\t4\t5\t6\t7\t8
// FILE profile: reuse1\tany\tx
// ERROR: $DIR/profile:2: not a line of a reuse profile
int any(int n) { return n; }
