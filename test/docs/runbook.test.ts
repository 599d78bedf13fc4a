import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { ERROR_CODES, EXIT } from '../../src/errors.ts'
import { page, sections } from './pages.ts'

const text = page('docs/runbook.md')
const program = createProgram('0', async () => {})

/** Every command that the page tells to type: in blocks, a line each; in the text, between backquotes. */
const typed = [
  ...[...text.matchAll(/^ *(waybill .*?)(?:\s+#.*)?$/gm)].map(([, line = '']) => line),
  ...[...text.matchAll(/`(waybill [^`]+)`/g)].map(([, line = '']) => line),
]

/** What is wrong with a command: undefined where it can be typed so. */
function problemWith(line: string): string | undefined {
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

describe('docs/runbook.md', () => {
  it('tells commands that can be typed, with their options', () => {
    expect(typed.length).toBeGreaterThan(40)
    expect(typed.flatMap((line) => problemWith(line)?.concat(`: ${line}`) ?? [])).toEqual([])
  })

  it.each([
    ['waybill rum JOB', 'there is no command rum'],
    ['waybill run JOB --fast', 'there is no option --fast'],
    ['waybill show RUN RUN', 'one argument too many'],
    ['waybill runs --limit', '--limit needs a value'],
    ['waybill prune --dry-run', '--older-than is missing'],
    ['waybill mapping diff OLD NEW', 'an argument is missing'],
  ])('would not tell %s', (line, problem) => {
    expect(problemWith(line)).toContain(problem)
  })

  it('has a section for each exit code, and for no other', () => {
    const told = [...sections(text, 2).keys()].flatMap(
      (heading) => /^Exit code (\d+)$/.exec(heading)?.[1] ?? [],
    )
    expect(told.map(Number).sort((a, b) => a - b)).toEqual(Object.values(EXIT).sort((a, b) => a - b))
  })

  it.each(Object.values(EXIT))(
    'tells of every error with exit code %i, by its name or its beginning',
    (wanted) => {
      const section = sections(text, 2).get(`Exit code ${wanted}`) ?? ''
      const told = [...section.matchAll(/`([a-z]+(?:-[a-z]+)*(?:-…)?)`/g)].map(([, code = '']) => code)
      const untold = Object.entries(ERROR_CODES).flatMap(([code, { exit }]) => {
        const named = told.some((one) =>
          one.endsWith('…') ? code.startsWith(one.slice(0, -1)) : one === code,
        )
        return exit !== wanted || named ? [] : [code]
      })
      expect(untold).toEqual([])
    },
  )

  it('is named where people look for it', () => {
    for (const path of ['README.md', 'docs/cli.md']) expect(page(path)).toContain('runbook.md')
  })
})
