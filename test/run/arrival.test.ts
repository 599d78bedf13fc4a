/** The way of an export to the archive, and finding again what a killed process had begun with: the very file, wherever it lies by then. */
import { hash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
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

it.each([0, 1, 2, 3])(
  'killed after %d moves to the archive, it leaves no marker and no checksum that vouches for the next export',
  async (moves) => {
    const { inbox, source, arrival } = await place({
      ...{ match: '*.csv', complete: { marker: '{name}.done' }, verify: { checksum: '{name}.sha256' } },
      archive: 'archive',
    })
    const beside = ['a.csv.done', 'a.csv.sha256']
    await writeFile(join(inbox, 'a.csv'), 'first')
    await writeFile(join(inbox, 'a.csv.done'), '')
    await writeFile(join(inbox, 'a.csv.sha256'), `${sha256('first')}  a.csv\n`)
    const [found] = (await arrival.look(source, Date.now())).complete
    if (found === undefined) expect.fail('nothing is found')
    let left = moves
    const archive: typeof found.source.archive = async (one) => {
      if (left-- === 0) throw new Error('killed')
      return found.source.archive(one)
    }
    const ending = arrival.archive({ ...found, source: { ...found.source, archive } })
    if (moves < 3) await expect(ending).rejects.toThrow('killed')
    else expect(await ending).toBe(join(inbox, '../archive/a.csv'))
    const there = await readdir(inbox)
    expect(there).toHaveLength(3 - moves)
    if (!there.includes('a.csv')) expect(there.filter((name) => beside.includes(name))).toEqual([])
    // An export that has lost its marker waits; it is not taken as another one.
    const next = await arrival.look(source, Date.now())
    expect([next.complete.length, next.waiting.length]).toEqual(
      moves === 0 ? [1, 0] : [0, there.includes('a.csv') ? 1 : 0],
    )
    await arrival.close(false)
  },
)

it('a checksum file that speaks of other exports, too, stays where it is', async () => {
  const { inbox, source, arrival } = await place({
    ...{ match: '*.csv', verify: { checksum: 'SHA256SUMS' }, archive: 'archive' },
  })
  await writeFile(join(inbox, 'a.csv'), 'first')
  await writeFile(join(inbox, 'SHA256SUMS'), `${sha256('first')}  a.csv\n`)
  const [found] = (await arrival.look(source, Date.now())).complete
  await arrival.archive(found ?? expect.fail('nothing is found'))
  expect(await readdir(inbox)).toEqual(['SHA256SUMS'])
  await arrival.close(false)
})

it.each([
  [16 * 1024 ** 2, 'export-not-as-announced'],
  [16 * 1024 ** 2 + 1, 'export-too-large'],
])('a checksum file of %i bytes: %s', async (bytes, code) => {
  const { inbox, source, arrival } = await place({ match: '*.csv', verify: { checksum: '{name}.sha256' } })
  await writeFile(join(inbox, 'a.csv'), 'first')
  await writeFile(join(inbox, 'a.csv.sha256'), Buffer.alloc(bytes, 'x'))
  const [found] = (await arrival.look(source, Date.now())).complete
  await expect(arrival.receive(found ?? expect.fail('nothing is found'))).rejects.toMatchObject({ code })
  await arrival.close(false)
})
