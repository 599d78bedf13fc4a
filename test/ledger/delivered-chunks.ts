/** Chunks of delivered rows by their number: rows of earlier ones come back in later ones, with another content. */
import { createHash } from 'node:crypto'
import type { DeliveredRow } from '../../src/ledger/ledger.ts'

import { keptSlot } from './kept-slots.ts'

type Pace = NonNullable<Parameters<typeof import('../../src/ledger/sqlite/delivered.ts').deliveredOf>[1]>

/** So that a few hundred rows have segments of many levels, merged in many pieces. */
export const SMALL_PACE: Pace = { fanOut: 2, entries: 16, removed: 1, packs: 1 }

const ROWS = 10
const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

export const chunkRows = (chunk: number): DeliveredRow[] =>
  Array.from({ length: ROWS }, (_, at) => {
    // Every second row is one that stood beside it in one of the five chunks before.
    const back = 1 + (Number.parseInt(hash(`${chunk} ${at}`).slice(0, 6), 16) % 5)
    const isAgain = at % 2 === 0 && chunk >= back
    const contents = hash(`content ${chunk} ${at}`)
    const records = [0, 1, 2, 3].map((nth) =>
      keptSlot(hash(`rule ${nth}`).slice(0, 8), contents.slice(nth * 16, (nth + 1) * 16), {
        arrival: chunk,
        row: at,
      }),
    )
    return {
      rowKey: hash(isAgain ? `row ${chunk - back} ${at + 1}` : `row ${chunk} ${at}`).slice(0, 32),
      records,
    }
  })
