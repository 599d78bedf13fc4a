/** Commands as pages and messages tell to type them, and whether they can be typed so. */
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/program.ts'

const program = createProgram('0', async () => {})

/** Commands in blocks of code, a line each. */
export const typedIn = (text: string): string[] =>
  [...text.matchAll(/^ *(?:npx )?(waybill .*?)(?:\s+#.*)?$/gm)].map(([, line = '']) => line)

/** Commands between backquotes: to be typed, or spoken of. */
export const namedIn = (text: string): string[] =>
  [...text.matchAll(/`(?:npx )?(waybill [^`]+)`/g)].map(([, line = '']) => line)

/** What is wrong with a command: undefined where it can be typed so. */
export function problemWith(line: string): string | undefined {
  const words = line.split(/\s+/).slice(1)
  let command: Command = program
  while (command.commands.length > 0) {
    const name = words.shift()
    const next = command.commands.find((one) => one.name() === name)
    if (next === undefined) return `there is no command ${name}`
    command = next
  }
  let left = command.registeredArguments.length
  let given = 0
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (!word.startsWith('-')) {
      given += 1
      left -= 1
      if (left < 0) return `"${word}" is one argument too many`
      continue
    }
    const option = command.options.find(({ long }) => long === word)
    if (option === undefined) return `there is no option ${word}`
    if (!option.required) continue
    const value = words.shift()
    if (value === undefined) return `${word} needs a value`
    option.parseArg?.(value, undefined)
  }
  const mandatory = command.options.filter((option) => option.mandatory && !line.includes(`${option.long}`))
  if (mandatory.length > 0) return `${mandatory[0]?.long} is missing`
  // A command may be named alone, without what it is given.
  const needed = command.registeredArguments.filter((one) => one.required).length
  return given > 0 && given < needed ? 'an argument is missing' : undefined
}
