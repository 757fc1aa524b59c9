"""Tools for people without a program: the page on which they try the tasks, and files of questions and answers."""
