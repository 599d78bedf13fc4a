/** Names of files as HTML: a line may be broken between their words, and never within a date or another number. */
import { html } from '../html-page.ts'

/** Text as HTML, with places to break it behind `_`, `.` and `/` but where digits stand on both sides. */
export const nameHtml = (name: string): string =>
  html(name)
    .replaceAll(/(?<![0-9])([_./])(?=[^_./])/g, '$1<wbr>')
    .replaceAll(/(?<=[0-9])([_/])(?![0-9_./])/g, '$1<wbr>')
    // Browsers break behind a hyphen, also between digits.
    .replaceAll(/[0-9]+(?:-[0-9]+)+/g, '<span class="whole">$&</span>')
