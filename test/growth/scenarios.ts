/** What takes longer the more there is: of rows, columns, names, files. Each is given twice as much, and must not take more than twice the work. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommandLine } from '../../src/main.ts'
import { PROJECT } from '../cli/command-line.ts'

export interface Scenario {
  readonly n: number
  /** @returns the work, which alone is counted */
  prepare(n: number, folder: string): Promise<() => unknown>
}

/** Runs a command over files of its own; that it fails is none of the counter's business, unless it is a defect. */
const command =
  (files: (n: number) => Readonly<Record<string, string>>, ...args: readonly string[]): Scenario['prepare'] =>
  async (n, folder) => {
    const homes = ['home', 'jobs', 'inbox'].map((name) => join(folder, name))
    for (const one of homes) await mkdir(one, { recursive: true })
    for (const [name, text] of Object.entries(files(n))) await writeFile(join(folder, name), text)
    return async () => {
      process.chdir(folder)
      let said = ''
      const note = (text: string): void => {
        said += text
      }
      const code = await runCommandLine(args, {
        environment: {
          WAYBILL_HOME: join(folder, 'home'),
          WAYBILL_JOBS: join(folder, 'jobs'),
          WAYBILL_MAPPINGS: join(PROJECT, 'mappings'),
          WAYBILL_GATEWAY_URL: 'built-in',
        },
        folder,
        out: note,
        err: note,
        terminal: false,
        interrupt: new AbortController().signal,
      })
      if (process.env['SAY']) process.stderr.write(`${code} ${said.slice(0, 1500)}\n`)
      if (code === 70) throw new Error(said.slice(0, 2_000))
    }
  }

const times = (n: number, of: (at: number) => string, between = ','): string =>
  Array.from({ length: n }, (_, at) => of(at)).join(between)

const drafted = (sample: string, text: (n: number) => string, n: number): Scenario => ({
  n,
  prepare: command((size) => ({ [sample]: text(size) }), 'mapping', 'init', sample, '--out', 'draft.yaml'),
})

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'mapping init: equal headings': drafted(
    'a.csv',
    (n) => `${times(n, () => 'a')}\n${times(n, String)}\n${times(n, String)}\n`,
    1_000,
  ),
  'mapping init: different headings': drafted(
    'a.csv',
    (n) => `${times(n, (at) => `column ${at}`)}\n${times(n, String)}\n${times(n, String)}\n`,
    1_000,
  ),
}
