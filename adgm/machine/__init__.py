"""What runs need of the machine: processor time, deadlines, values computed once, and a fallback without compiled
code."""
