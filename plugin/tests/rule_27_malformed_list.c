// A list that is none is an error that names file and line.
// OPTIONS: deny=$DIR/deny
// FILE deny: fine
// FILE deny: not a name
// ERROR: $DIR/deny:2: 'not a name' is not the name of a function
int any(int n) { return n; }
