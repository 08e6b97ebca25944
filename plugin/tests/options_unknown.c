// An option that does not exist is an error.
// OPTIONS: globls=off
// ERROR: LARDER_REUSE_OPTIONS: no option 'globls'
int any(int n) { return n; }
