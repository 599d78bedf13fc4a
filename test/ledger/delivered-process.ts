/**
 * A process of its own: settles chunk after chunk of delivered rows, from one number on, and does all upkeep, in pieces as small as can be. It says
 * what it has done, one line after each transaction: `settled 7`, `merge`, `remove` or `clear`.
 */
import { writeSync } from 'node:fs'
import { openLedgerDatabase } from '../../src/ledger/sqlite/database.ts'
import { deliveredOf } from '../../src/ledger/sqlite/delivered.ts'
import { chunkRows, SMALL_PACE } from './delivered-chunks.ts'

const [, , file = '', from = '0', to = '0'] = process.argv
const { statements } = openLedgerDatabase(file, 1_000)
// A killed process loses nothing by it.
statements.run('pragma synchronous = off')
const delivered = deliveredOf(statements, SMALL_PACE)
const transaction = (said: string, work: () => void): void => {
  statements.run('begin')
  work()
  statements.run('commit')
  writeSync(1, `${said}\n`)
}
for (let chunk = Number(from); chunk < Number(to); chunk++) {
  transaction(`settled ${chunk}`, () => delivered.save(1, chunkRows(chunk)))
  for (const piece of delivered.upkeep(1)) transaction(piece.what, () => delivered.keepUp(1, piece, 1))
}
