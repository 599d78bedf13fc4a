/** Finding again what a killed process had begun with: the very file, wherever it lies by then. */
import { hash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { expect, it } from 'vitest'
import { ZipFile } from 'yazl'
import { ExportDefinition, jobSource } from '../../src/definitions/export-definition.ts'
import { createArrival } from '../../src/run/arrival.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const sha256 = (text: string): string => hash('sha256', text, 'hex')

async function place(rules: object) {
  const folder = await temporaryFolder()
  const inbox = join(folder, 'inbox')
  await mkdir(inbox)
  const source = jobSource(
    ExportDefinition.parse({ from: 'inbox', mapping: 'm', ...rules }),
    undefined,
    folder,
  )
  return { inbox, source, arrival: createArrival(join(folder, 'spool'), {}) }
}

it('members of one name are each found again, by name, place and content', async () => {
  const { inbox, source, arrival } = await place({ match: '*.zip', members: '*.csv' })
  const archive = new ZipFile()
  const texts = ['id,a1c\nann,5.1\n', 'id,a1c\nben,5.2\n', 'id,a1c\ncat,5.3\n']
  for (const text of texts) archive.addBuffer(Buffer.from(text), 'day.csv')
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(join(inbox, 'a.zip')))
  const [found] = (await arrival.look(source, Date.now())).complete
  const begun = await arrival.receive(found ?? expect.fail('nothing is found'))
  expect(new Set(begun.map(({ address }) => address)).size).toBe(texts.length)
  for (const [at, { address }] of begun.entries()) {
    const again = await arrival.receiveAgain(address, sha256(texts[at] ?? ''), [source])
    expect(await readFile(again?.file ?? '', 'utf8')).toBe(texts[at])
  }
  await arrival.close(false)
})

it('a file that a killed process has renamed aside is found again by its own name, and a newer one is none', async () => {
  const { inbox, source, arrival } = await place({ match: '*.csv' })
  const file = join(inbox, 'a.csv')
  await writeFile(file, 'first')
  const [found] = (await arrival.look(source, Date.now())).complete
  await arrival.receive(found ?? expect.fail('nothing is found'))
  await rename(file, join(inbox, '.wb-a.csv'))
  await writeFile(file, 'second')
  for (const text of ['first', 'second'])
    expect(
      await readFile((await arrival.receiveAgain(file, sha256(text), [source]))?.file ?? '', 'utf8'),
    ).toBe(text)
  expect(await arrival.receiveAgain(file, sha256('third'), [source])).toBeUndefined()
  await arrival.close(false)
})
