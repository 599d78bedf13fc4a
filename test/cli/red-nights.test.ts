/** What a person sees at 80 columns of nights that went wrong: how the run ended, the list of runs, and the run itself. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { closedPort } from '../closed-port.ts'
import { ANN, BEN, HEADER, JOB } from './clinic.ts'
import { delivery, type Nights, noticesText, openNights, steadily } from './nights.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

const GOLDEN = join(import.meta.dirname, 'golden')

interface RedNight {
  readonly name: string
  readonly exit: number
  readonly open: () => Promise<Nights>
  readonly file: string
  readonly content: string | Buffer
}

const ONE_DAY = `${HEADER}${ANN}${BEN}`

const NIGHTS: readonly RedNight[] = [
  {
    name: 'gateway-down',
    exit: 3,
    open: async () =>
      openNights({
        job: 'submit: { patience: 100ms }\n',
        environment: gatewaySettings(`http://127.0.0.1:${await closedPort()}`),
      }),
    file: 'day.csv',
    content: ONE_DAY,
  },
  {
    name: 'key-refused',
    exit: 3,
    open: async () =>
      openNights({ store: await startReferenceStore({ open: true, apiKeys: ['another key'] }) }),
    file: 'day.csv',
    content: ONE_DAY,
  },
  {
    name: 'cut-off',
    exit: 2,
    open: () => openNights({ job: '' }),
    file: 'day.csv.gz',
    content: gzipSync(ONE_DAY).subarray(0, 40),
  },
  {
    name: 'columns-missing',
    exit: 2,
    open: () => openNights(),
    file: 'day.csv',
    content: ONE_DAY.replace('pulse,a1c', 'pulse,hba1c'),
  },
  {
    name: 'values-wrong',
    exit: 1,
    open: () => openNights(),
    file: 'day.csv',
    content: `${delivery('a', 6)}${BEN.replace('62,5.2', 'fast,52')}${BEN.replace('2026-03-02', 'yesterday')}`,
  },
]

test.each(NIGHTS)('$name', async ({ name, exit, open, file, content }) => {
  const nights = await open()
  if (file.endsWith('.gz')) await nights.workplace.job('clinic', JOB.replace('*.csv', '*.csv.gz'))
  await nights.deliver(file, content)
  const ended = await nights.look('run', 'clinic')
  expect(ended.code).toBe(exit)
  const [listed, shown] = [await nights.look('runs'), await nights.look('show')]
  // A command is typed as it stands, and no word is broken apart.
  for (const line of [...listed.out.split('\n'), ...shown.out.split('\n')])
    if (!line.startsWith('    ') && line.trim().includes(' '))
      expect(line.length, line).toBeLessThanOrEqual(80)
  const said = ended.err
    .split('\n')
    .filter((line) => !line.includes('the ledger is new'))
    .join('\n')
  const text = [said, listed.out, shown.out, noticesText(nights)].join('\n')
  await expect(steadily(text, nights)).toMatchFileSnapshot(join(GOLDEN, `night-${name}.txt`))
  // Nothing of a person is in it.
  expect(text).not.toMatch(/\bann\b|\bben\b/)
})

test('each of them is told in words that name what to do', async () => {
  for (const { name } of NIGHTS) {
    const text = await readFile(join(GOLDEN, `night-${name}.txt`), 'utf8')
    expect([name, /^Next$/m.test(text) || text.includes('What to do')]).toEqual([name, true])
  }
})
