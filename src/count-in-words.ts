/** Counts as people read them, in every report, notification, log line and answer of a command. */

/** `1,234,567` */
export const n = (count: number): string => count.toLocaleString('en-US')

/** `1 row`, `1,234 rows` */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${n(count)} ${count === 1 ? one : many}`
