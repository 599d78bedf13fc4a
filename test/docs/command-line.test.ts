import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { ERROR_CODES, EXIT } from '../../src/model/errors.ts'
import { VARIABLES } from '../../src/system/settings.ts'
import { createWorkplace, PROJECT } from '../cli/command-line.ts'
import { blocks, page, sections, tableRows } from './pages.ts'

const program = createProgram('0', async () => {})

/** Commands that do something and that people type, with their full name: `waybill mapping check <mapping>`. */
function commandsOf(parent: Command, prefix: string): { usage: string; command: Command }[] {
  const shown = parent.createHelp().visibleCommands(parent)
  return shown
    .filter((command) => command.name() !== 'help')
    .flatMap((command) => {
      const name = `${prefix} ${command.name()}`
      if (command.commands.length > 0) return commandsOf(command, name)
      const given = command.registeredArguments.map((one) =>
        one.required ? ` <${one.name()}>` : ` [${one.name()}]`,
      )
      return [{ usage: name + given.join(''), command }]
    })
}

const cli = page('docs/cli.md')
const documented = new Map(
  [...sections(cli, 2)].flatMap(([heading, text]) => {
    const usage = /^`(waybill .*)`$/.exec(heading)?.[1]
    return usage === undefined ? [] : [[usage, text] as const]
  }),
)

describe('docs/cli.md', () => {
  const commands = commandsOf(program, 'waybill')

  it('has every command with its arguments, and no other', () => {
    expect([...documented.keys()].sort()).toEqual(commands.map(({ usage }) => usage).sort())
  })

  it.each(commands)('explains options of $usage that exist, each beyond its help', ({ usage, command }) => {
    const help = new Map(command.options.map((option) => [`\`${option.flags}\``, option.description]))
    for (const [, flags = '', does = ''] of (documented.get(usage) ?? '').matchAll(
      /^- (`-[^`]+`): (.*)$/gm,
    )) {
      expect([...help.keys()]).toContain(flags)
      expect(does).not.toBe('')
      expect(does).not.toBe(help.get(flags))
    }
  })

  it('has every exit code, and no other', () => {
    const codes = tableRows(sections(cli, 2).get('Exit codes') ?? '').map(([code]) => Number(code))
    expect(codes.sort((a, b) => a - b)).toEqual(Object.values(EXIT).sort((a, b) => a - b))
  })
})

/** Every path of keys in a JSON value; elements of lists are taken together. */
function keyPaths(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => keyPaths(one, `${path}[]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => [`${path}.${key}`, ...keyPaths(one, `${path}.${key}`)])
}

describe('the JSON summary of docs/cli.md', () => {
  it('has the keys that a run prints, and no other', async () => {
    const workplace = await createWorkplace({ WAYBILL_JOBS: join(PROJECT, 'jobs') })
    const { out } = await workplace.waybill('run', 'nightly-screenings', '--limit', '25', '--json')
    const [shown = ''] = blocks(cli, 'json')
    // The counts of an export have the form of those of the run, and all kinds of records that of biometrics.
    const repeated = /\.counts\..|^\.records\.(?!biometric)\w+\../
    const paths = (text: string): string[] =>
      [...new Set(keyPaths(JSON.parse(text)))].filter((path) => !repeated.test(path)).sort()
    expect(paths(shown)).toEqual(paths(out))
  })
})

describe('the README', () => {
  it('names no command as there that is not, and none as missing that is', () => {
    const names = new Set(commandsOf(program, 'waybill').map(({ usage }) => usage.replace(/ [<[].*$/, '')))
    const text = page('README.md')
    const used = [...text.matchAll(/npx (waybill (?:mapping )?[a-z]+)/g)].map(([, name = '']) => name)
    expect(used.length).toBeGreaterThan(4)
    for (const name of used) expect(names).toContain(name)
    const missing = /^Not there yet: (.*?)\n\n/ms.exec(text)?.[1] ?? ''
    for (const name of names) expect(missing).not.toContain(`\`${name.replace('waybill ', '')}\``)
  })
})

describe('docs/settings.md', () => {
  it('has every variable, and no other', () => {
    const named = tableRows(page('docs/settings.md')).flatMap(([names = '']) =>
      names.replaceAll('`', '').split(', '),
    )
    expect(named.sort()).toEqual([...VARIABLES].sort())
  })
})

describe('docs/errors.md', () => {
  it('has every code with its exit code, and no other', () => {
    const rows = tableRows(page('docs/errors.md')).map(([code = '', exit = '']) => [code, exit])
    const codes = Object.entries(ERROR_CODES).map(([code, { exit }]) => [`\`${code}\``, String(exit)])
    expect(rows.sort()).toEqual(codes.sort())
  })
})
