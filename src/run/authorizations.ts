/** The folder in which authorizations lie: PDFs, by names that a mapping gives. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { authorizationFault, LONGEST_PDF } from '../gateway/medical-records.ts'
import type { Authorizations } from '../load/medical-records.ts'

/** @param folder undefined where the job names none: then there is none of them */
export function createAuthorizations(folder: string | undefined): Authorizations {
  const read = async (name: string): Promise<Buffer | undefined> => {
    if (folder === undefined || name === '') return undefined
    // Without waiting for whoever writes into a pipe, and not through a link that leads elsewhere.
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
    const file = await open(join(folder, name), flags).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (file === undefined) return undefined
    try {
      const stats = await file.stat()
      if (!stats.isFile()) throw new Error('is no file')
      // One that is too long is not read, and is too long all the same.
      return stats.size > LONGEST_PDF ? Buffer.alloc(LONGEST_PDF + 1) : await file.readFile()
    } finally {
      await file.close()
    }
  }
  return {
    read,
    async look(name) {
      try {
        const pdf = await read(name)
        return pdf === undefined ? 'absent' : (authorizationFault(pdf) ?? 'ready')
      } catch {
        return 'cannot be read'
      }
    },
  }
}
