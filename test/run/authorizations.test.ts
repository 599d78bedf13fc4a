/** Authorizations of a job: PDFs in its folder, by the names that the mapping gives. */
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LONGEST_PDF } from '../../src/gateway/medical-records.ts'
import { openAuthorizations } from '../../src/run/loading.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const PDF = '%PDF-1.7\nscanned\n%%EOF\n'

it('is ready, absent, or has a fault: whatever lies in the folder under its name', async () => {
  const folder = await temporaryFolder()
  const at = (name: string): string => join(folder, name)
  for (const [name, text] of [
    ['whole.pdf', PDF],
    ['text.pdf', 'text'],
    ['long.pdf', PDF],
  ] as const)
    await writeFile(at(name), text)
  await truncate(at('long.pdf'), LONGEST_PDF + 1)
  await mkdir(at('folder.pdf'))
  await symlink(at('whole.pdf'), at('link.pdf'))
  const { look, read } = openAuthorizations(folder)
  const states: Record<string, string> = {}
  for (const name of ['whole', 'none', 'text', 'long', 'folder', 'link', 'whole.pdf/in'])
    states[name] = await look(`${name}.pdf`)
  expect({ ...states, '': await look('') }).toEqual({
    whole: 'ready',
    none: 'absent',
    text: 'does not begin as a PDF',
    long: 'is longer than 32 MiB',
    folder: 'cannot be read',
    link: 'cannot be read',
    'whole.pdf/in': 'cannot be read',
    '': 'absent',
  })
  expect(await read('whole.pdf')).toEqual(Buffer.from(PDF))
  expect(await read('none.pdf')).toBeUndefined()
})

it('is absent in a folder that is gone, and for a job without a folder', async () => {
  const folder = await temporaryFolder()
  expect(await openAuthorizations(join(folder, 'gone')).look('a.pdf')).toBe('absent')
  expect(await openAuthorizations(undefined).look('a.pdf')).toBe('absent')
})
