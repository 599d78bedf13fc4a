/** Plants each written mistake of the delivery core in a copy of the tree, and counts those that the models find within 2,000 histories. */
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { makeCopy, runProgram, sourceTexts, withTexts } from '../../test/mutants/copy.ts'
import { writtenFaults } from '../../test/mutants/written.ts'

const CORE = /^(decide|learn|kept-slots|slots|care-team-(decide|learn|slot)|care-teams)\.ts$/
const LIMIT_MS = 240_000

const copy = await makeCopy()
const faults = (await writtenFaults([])).filter(({ file }) => CORE.test(basename(file)))
const texts = await sourceTexts()
let found = 0
try {
  for (const { name, file, find, replace } of faults) {
    const text = (texts.get(file) ?? '').replace(find, () => replace)
    const model = file.includes('care-team') ? ['--care-teams'] : []
    const args = ['drill/model/main.ts', '--histories', '2000', '--seed', '1', '--first', ...model]
    const { code } = await withTexts(copy, new Map([[file, text]]), () => runProgram(copy, args, LIMIT_MS))
    if (code !== 0) found++
    process.stdout.write(`${code === 0 ? 'UNSEEN' : 'found '}  ${name}\n`)
  }
} finally {
  await rm(copy, { recursive: true, force: true })
}
process.stdout.write(`${found} of ${faults.length} found\n`)
