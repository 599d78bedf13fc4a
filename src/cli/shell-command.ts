/** Commands that people are told to type: they can be typed as they stand. On a line of its own. @param words quoted where they must be */
export const command = (...words: readonly string[]): string => `    waybill ${words.join(' ')}`
