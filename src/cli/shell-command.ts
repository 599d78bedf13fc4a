import { shellWord } from '../shown-text.ts'

/** Commands that people are told to type: they can be typed as they stand. On a line of its own. @param words quoted where they must be */
export const command = (...words: readonly string[]): string => `    waybill ${words.join(' ')}`

/**
 * Before a command that is to go to another gateway than the settings name.
 * @param gateway as the ledger names it: an address without secrets, or `built-in`
 */
export const gatewaySetting = (gateway: string): string => `WAYBILL_GATEWAY_URL=${shellWord(gateway)}`
