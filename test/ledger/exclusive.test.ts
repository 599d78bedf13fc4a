import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { MIGRATIONS, openLedgerDatabase } from '../../src/ledger/sqlite/database.ts'
import { createExclusive } from '../../src/ledger/sqlite/exclusive.ts'

test.each(['commits', 'fails'] as const)(
  'a look, and a write of one statement, wait for the end of a transaction that is open, and see what it came to: it %s',
  async (how) => {
    const database = openLedgerDatabase(':memory:', 0)
    onTestFinished(() => database.kysely.destroy())
    for (const { up } of Object.values(MIGRATIONS)) await up(database.kysely)
    const { db, write } = createExclusive(database)
    const gate = Promise.withResolvers<void>()
    const job = (name: string) => ({ name, gateway: 'g' })
    const writing = write(async (writer) => {
      await writer.insertInto('job').values(job('first')).execute()
      await gate.promise
      await writer.insertInto('job').values(job('second')).execute()
      if (how === 'fails') throw new Error('it is rolled back')
    }).catch(() => undefined)
    const looked = db.selectFrom('job').select('name').execute()
    const added = db.insertInto('job').values(job('third')).execute()
    // Whoever does not wait has gone first by now.
    for (let turn = 0; turn < 3; turn++) await setImmediate()
    gate.resolve()
    await Promise.all([writing, added])
    const before = how === 'fails' ? [] : ['first', 'second']
    expect((await looked).map(({ name }) => name)).toEqual(before)
    const after = await db.selectFrom('job').select('name').orderBy('id').execute()
    expect(after.map(({ name }) => name)).toEqual([...before, 'third'])
  },
)

test('statements that wait each for its turn are no transaction, and are not streamed', async () => {
  const database = openLedgerDatabase(':memory:', 0)
  onTestFinished(() => database.kysely.destroy())
  const { db } = createExclusive(database)
  await expect(db.transaction().execute(async () => {})).rejects.toThrow('use `write`')
  await expect(db.selectFrom('job').selectAll().stream().next()).rejects.toThrow('streamed')
})
