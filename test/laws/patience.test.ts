/** Tests wait for what happens, and limits guard against hanging alone: none is shorter than a minute, and none of a test than that of the suite. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PROJECT } from '../cli/command-line.ts'

const LEAST_MS = 60_000

/** Arguments of each call, up to its closing parenthesis. */
function callsOf(text: string, name: string): string[] {
  return text
    .split(`${name}(`)
    .slice(1)
    .map((rest) => {
      let depth = 1
      let at = 0
      for (; depth > 0 && at < rest.length; at++)
        depth += '([{'.includes(rest.charAt(at)) ? 1 : ')]}'.includes(rest.charAt(at)) ? -1 : 0
      return rest.slice(0, at - 1)
    })
}

/** Limit at the end of arguments, in ms. */
const limitOf = (given: string): number | undefined => {
  const [, limit] = /(?:,\s+|timeout: )([\d_]+),?\s*(?:\}|, interval: \d+ \})?,?\s*$/.exec(given) ?? []
  return limit === undefined ? undefined : Number(limit.replaceAll('_', ''))
}

async function testFiles(): Promise<string[]> {
  const all = await Promise.all(
    ['test', 'packages'].map(async (folder) =>
      (await readdir(join(PROJECT, folder), { recursive: true })).map((path) => `${folder}/${path}`),
    ),
  )
  return all.flat().filter((path) => path.endsWith('.ts') && /(^|\/)test\//.test(path))
}

test('what waits for an event waits a minute at least', async () => {
  const short: string[] = []
  for (const path of await testFiles()) {
    const text = await readFile(join(PROJECT, path), 'utf8')
    // Without a limit, vitest waits a second; a poll of an expectation waits as long as the settings say.
    for (const [name, usual] of [
      ['vi.waitFor', 1_000],
      ['vi.waitUntil', 1_000],
      ['expect.poll', LEAST_MS],
    ] as const)
      for (const call of callsOf(text, name))
        if ((limitOf(call) ?? usual) < LEAST_MS) short.push(`${path}: ${name}(${call})`)
  }
  expect(short).toEqual([])
})
