/** How often something is said on standard error while it is under way, and how a line in a terminal is written over. */

export const LINE_EVERY_MS = 5_000
/** That it still waits for the same thing. */
export const WAIT_LINE_EVERY_MS = 60_000
export const DRAW_EVERY_MS = 100

/** To the start of the line, and clear it: ECMA-48, CR and EL. */
export const CLEAR = '\r\x1b[2K'
