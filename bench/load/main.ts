/**
 * What a load costs, against what it would cost otherwise: a loader written by hand, and the least that the wire allows. Everything is a
 * ratio within one run, the loaders in turns, medians of the turns; a run counts only if the gateway holds exactly the records of the
 * export, none twice. Linux. Writes `bench/results.md`.
 *
 *     npm run bench -- [--rows 100000] [--turns 3] [--only load,again,…] [--slow]
 *
 * OpenFn is measured beside them where it is installed, here alone: `npm install --prefix bench/openfn --no-package-lock`.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { resultsPage } from './results.ts'
import { type Bench, type Finding, SCENARIOS } from './scenarios.ts'

const Options = z.strictObject({
  /** Of the export of the first scenarios. */
  rows: z.coerce.number().int().min(1).default(100_000),
  turns: z.coerce.number().int().min(1).default(3),
  only: z
    .string()
    .transform((text) => text.split(','))
    .optional(),
  /** Those that take long, too: 400,000 rows, and a ledger with 2 million rows in it. */
  slow: z.boolean().default(false),
  out: z.string().default(join(import.meta.dirname, '../results.md')),
})
const { values } = parseArgs({
  options: {
    rows: { type: 'string' },
    turns: { type: 'string' },
    only: { type: 'string' },
    slow: { type: 'boolean' },
    out: { type: 'string' },
  },
})
const { rows, turns, only, slow, out } = Options.parse(values)
if (!existsSync('/proc/self/stat'))
  throw new Error('the bench measures by /proc, which this system does not have')

const folder = await mkdtemp(join(tmpdir(), 'waybill-bench-'))
const findings: Finding[] = []
try {
  const bench: Bench = { folder, rows, turns, say: (line) => void process.stdout.write(`${line}\n`) }
  for (const scenario of SCENARIOS) {
    if (only === undefined ? scenario.isSlow === true && !slow : !only.includes(scenario.name)) continue
    bench.say(`${scenario.name}: ${scenario.what}`)
    for (const finding of await scenario.play(bench)) {
      findings.push(finding)
      bench.say(`  ${finding.figure}: ${finding.measured} (goal ${finding.goal}; ${finding.detail})`)
    }
  }
} finally {
  await rm(folder, { recursive: true })
}
await writeFile(out, resultsPage(findings, { rows, turns }))
