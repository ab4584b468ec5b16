"use strict";
// The position in the recording, in seconds since its first moment.

class Playhead {
  constructor(duration) {
    this.duration = duration;
    this.position = 0;
    this.onChange = () => {};
  }

  now() {
    return this.position;
  }

  seek(seconds) {
    this.position = Math.min(Math.max(seconds, 0), this.duration);
    this.onChange();
  }
}
