/** The home of all machines is known by its content, however a machine names it. */
import { cp, mkdir, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { assertSharedHome } from '../../src/runs/shared-home.ts'
import { temporaryFolder } from '../temporary-folder.ts'

async function scene() {
  const folder = await temporaryFolder()
  const home = join(folder, 'home')
  await mkdir(home)
  let mark: string | undefined
  const sharedHome = {
    mark: async () => mark,
    claim: async (made: string) => {
      mark ??= made
      return mark
    },
  }
  let made = 0
  const look = (path: string) =>
    assertSharedHome({ settings: { home: path }, randomHex: () => `mark-${++made}` }, { sharedHome })
  expect((await look(home))()).toBe(true)
  return { folder, home, look }
}

test.each<[string, (home: string, folder: string) => Promise<string>]>([
  ['a slash behind it', async (home) => `${home}/`],
  ['a way round', async (home) => `${home}/../home`],
  [
    'a link',
    async (home, folder) => {
      await symlink(home, join(folder, 'link'))
      return join(folder, 'link')
    },
  ],
  [
    'another mount point',
    async (home, folder) => {
      await rename(home, join(folder, 'mounted'))
      return join(folder, 'mounted')
    },
  ],
])('the home is the same by %s', async (_how, named) => {
  const { folder, home, look } = await scene()
  expect((await look(await named(home, folder)))()).toBe(true)
})

test('a home of the same name with other content is another one, and a mount that comes is seen', async () => {
  const { folder, home, look } = await scene()
  const isThere = await look(home)
  await rename(home, join(folder, 'elsewhere'))
  await mkdir(home)
  expect(isThere()).toBe(false)
  await expect(look(home)).rejects.toMatchObject({ code: 'home-differs' })
  await cp(join(folder, 'elsewhere/shared-home'), join(home, 'shared-home'))
  expect(isThere()).toBe(true)
})
