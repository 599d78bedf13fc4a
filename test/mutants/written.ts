/** The mistakes of faults.yaml, which people have made or could make, each with the tests that are to see it. */
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { allTests, runTests, sourceTexts, withTexts } from './copy.ts'

/** A mistake may hang the tests: that is seen, too. */
const HANGS_AFTER_MS = 240_000

const Fault = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/),
  /** The effect of the mistake, in words. */
  breaks: z.string().min(1),
  file: z.string(),
  find: z.string().min(1),
  replace: z.string(),
  tests: z.array(z.string()).min(1),
})
type Fault = z.infer<typeof Fault>

export interface WrittenFault extends Fault {
  /** Why it cannot be made, as the text or a test is gone. */
  readonly problem?: string
}

/**
 * Reads the faults, and finds where their texts stand today: in the file that is named, else in the only source that has it.
 * @param names of the faults wanted; all where there are none
 * @throws Error no fault has a name
 */
export async function writtenFaults(names: readonly string[]): Promise<WrittenFault[]> {
  const all = z.array(Fault).parse(parse(await readFile(join(import.meta.dirname, 'faults.yaml'), 'utf8')))
  const unknown = names.filter((name) => !all.some((fault) => fault.name === name))
  if (unknown.length > 0) throw new Error(`there is no fault ${unknown.join(', ')}`)
  const texts = await sourceTexts()
  const tests = await allTests()
  const wanted = all.filter(({ name }) => names.length === 0 || names.includes(name))
  return wanted.map((fault) => placed(fault, texts, tests))
}

function placed(fault: Fault, texts: ReadonlyMap<string, string>, known: readonly string[]): WrittenFault {
  const having = [...texts].filter(([, text]) => text.includes(fault.find)).map(([file]) => file)
  const file = having.includes(fault.file) ? fault.file : having[0]
  if (file === undefined || (file !== fault.file && having.length > 1))
    return { ...fault, problem: `its text stands in ${having.length} files` }
  const times = (texts.get(file)?.split(fault.find).length ?? 1) - 1
  if (times !== 1) return { ...fault, problem: `its text stands ${times} times in ${file}` }
  const tests = fault.tests.map((test) =>
    known.includes(test) ? test : known.find((one) => basename(one) === basename(test)),
  )
  const gone = fault.tests.find((_, at) => tests[at] === undefined)
  if (gone !== undefined) return { ...fault, problem: `there is no ${gone}` }
  return { ...fault, file, tests: tests.filter((test) => test !== undefined) }
}

/** @throws Error a test fails without any fault: it would see nothing */
export async function refuseBrokenTests(copy: string, faults: readonly WrittenFault[]): Promise<void> {
  const tests = [...new Set(faults.flatMap((fault) => (fault.problem === undefined ? fault.tests : [])))]
  if (tests.length === 0) return
  const how = { bail: false, workers: 2, limit: 4 * HANGS_AFTER_MS }
  const { failed, cutOff } = await runTests(copy, tests, how)
  if (cutOff) throw new Error('the tests hang, or cannot begin, without any fault')
  for (const name of failed.values()) throw new Error(`a test fails without any fault: ${name}`)
}

/** @returns the test that sees the fault; undefined where none does */
export async function seenBy(
  copy: string,
  { file, find, replace, tests, problem }: WrittenFault,
): Promise<string | undefined> {
  if (problem !== undefined) return undefined
  const text = (await sourceTexts()).get(file) ?? ''
  const how = { bail: true, workers: 2, limit: HANGS_AFTER_MS }
  const { failed, cutOff } = await withTexts(copy, new Map([[file, text.split(find).join(replace)]]), () =>
    runTests(copy, tests, how),
  )
  return cutOff ? 'the tests hang, or cannot begin' : [...failed.values()][0]
}
