"use strict";
// The page of a recording known by its features alone: there is nothing to play.

const board = readBoard();
new Page(board, new Playhead(board.duration));
