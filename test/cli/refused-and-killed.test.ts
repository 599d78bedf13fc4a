/** The process is gone in the moment in which an export is refused: the next run refuses it, too, and is not in its way. */
import { hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { ANN, BEN, HEADER, JOB, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

test.each([
  ['is not as announced', `${HEADER}${BEN}`, '0'.repeat(64), 'export-not-as-announced'],
  ['is empty', '', undefined, 'export-empty'],
  ['has drifted', `${HEADER.replace('remark', 'note')}${BEN}`, undefined, 'export-drifted'],
])('one that %s', async (_what, content, checksum, code) => {
  const clinic = await openClinic({
    job: `${JOB}drift: { columns: stop }\n`.replace(
      'mapping: clinic }',
      `mapping: clinic${checksum === undefined ? '' : ', verify: { checksum: "{name}.sha256" }'} }`,
    ),
  })
  const { workplace } = clinic
  const inbox = join(workplace.folder, 'inbox')
  await clinic.deliver('first.csv', `${HEADER}${ANN}`)
  if (checksum !== undefined)
    await writeFile(join(inbox, 'first.csv.sha256'), `${hash('sha256', `${HEADER}${ANN}`)}  first.csv\n`)
  await clinic.run()
  const ledger = (sql: string): void => {
    const database = new DatabaseSync(join(workplace.home, 'ledger.sqlite'))
    database.exec(sql)
    database.close()
  }
  await clinic.deliver('second.csv', content)
  if (checksum !== undefined) await writeFile(join(inbox, 'second.csv.sha256'), `${checksum}  second.csv\n`)
  // What is to be written down next is not: as if the process had been killed just before.
  ledger(
    `create trigger killed before update of state on export when new.state = 'failed' begin select raise(abort, 'killed'); end`,
  )
  await clinic.run()
  ledger('drop trigger killed')
  const after = await clinic.run()
  expect(after.code).toBe(1)
  expect(summaryOf(after).exports.at(-1)).toMatchObject({ name: 'second.csv', error: code })
  expect(await clinic.store.allRecords()).toHaveLength(3)
})
