/** What the commands have in common: how an action is performed, and options that several take. */
import { InvalidArgumentError, Option } from 'commander'
import type { CommandContext } from './context.ts'

/**
 * Runs an action with a context made for it; gives the exit code on.
 * @param settings `as-they-are`: the action is performed although settings are wrong, and told of them
 */
export type Perform = (
  action: (context: CommandContext) => Promise<number>,
  settings?: 'as-they-are',
) => Promise<void>

export const json = (): Option =>
  new Option('--json', 'print one JSON object on standard output; logs go to standard error')

export function positiveNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return Number(text)
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
