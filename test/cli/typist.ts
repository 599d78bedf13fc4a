/** Commands of a clinic on a clock that goes on by what commands wait, with nothing drawn: they print the same each time. */
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { HEADER } from './clinic.ts'
import type { FaultyClinic } from './left-behind.ts'

/** So many people of a day, of whom the last ones have what the mapping does not take. */
export const rowsOf = (day: string, count: number, wrong: readonly string[] = []): string =>
  HEADER +
  Array.from({ length: count }, (_, at) => {
    const [unit = 'kg'] = wrong.slice(count - 1 - at)
    const id = at % 3 === 0 ? `p${at}` : `${day}-${at}`
    return `${id},${day},${60 + ((at * 7) % 30)},${(5 + (at % 9) / 10).toFixed(1)},${61.5 + ((at * 13) % 40)},${unit},x\n`
  }).join('')

/** Long ago: a delivery that could still change is waited for. */
export async function deliver(clinic: FaultyClinic, name: string, content: string): Promise<void> {
  await utimes(await clinic.deliver(name, content), 0, 0)
}

/** Types commands, one after the other, and keeps what they print. */
export function typist({ workplace, proxy, store }: FaultyClinic) {
  let now = Date.parse('2026-03-02T02:00:00Z')
  let drawn = 0
  const seen: string[] = []
  const steady = (text: string): string =>
    text
      .replaceAll(workplace.folder, 'FOLDER')
      .replaceAll(proxy.url, 'GATEWAY')
      .replaceAll(store.url, 'STORE')
      .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
      .replaceAll(/"(durationMs|workedMs|atWorkMs|freeBytes|ledgerBytes|pid)":[\d.]+/g, '"$1":N')
      .replaceAll(/\d[\d,.]* [kMG]B\b/g, 'N MB')
      .replaceAll(/\b\d+\.\d s\b/g, 'N s')
      .replaceAll(/[\d,]+ s (behind|ahead of)/g, 'N s off')
      .replaceAll(/[\d,]+ rows\/s/g, 'N rows/s')
      .replaceAll(/^[\d-]+T[\d:.]+Z (?=debug|info|warn|error)/gm, '')
  const machine = {
    user: 'operator',
    now: () => now,
    randomHex: (bytes: number) => (++drawn).toString(16).padStart(2 * bytes, '0'),
  }
  const type = async (...args: string[]): Promise<string> => {
    const ended = await workplace.waybillWith(
      (context) => ({
        ...context,
        columns: 100,
        ...machine,
        random: () => 0.5,
        sleep: async (ms) => {
          now += ms
          // Others have their turn, as they have while a command waits.
          await new Promise(setImmediate)
        },
      }),
      ...args,
    )
    seen.push(
      `$ waybill ${args.join(' ')}`,
      ended.out.trimEnd(),
      ended.err.trimEnd(),
      `(exit ${ended.code})`,
      '',
    )
    return ended.out
  }
  return {
    type,
    /** Clock, chance and user of the commands. */
    machine,
    /** In words, and as JSON. */
    async both(...args: string[]) {
      await type(...args)
      return type(...args, '--json')
    },
    at(instant: string) {
      now = Date.parse(instant)
    },
    /** Leaves out of a text whatever is not the same each time. */
    steady,
    async golden(name: string) {
      const text = steady(
        seen
          .splice(0)
          .filter((line, at, all) => line !== '' || all[at - 1] !== '')
          .join('\n'),
      )
      await expect(text).toMatchFileSnapshot(join(import.meta.dirname, `golden/every-command-${name}.txt`))
    },
  }
}

export const runIn = (out: string): string => String(/"run":"([^"]+)"/.exec(out)?.[1])
