/** Authorizations of medical-records requests: PDFs in a folder of the job. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { authorizationFault, LONGEST_PDF } from '../gateway/medical-records.ts'
import type { Authorizations } from '../load/medical-records.ts'

/** Opens the folder, for names from a mapping. @param folder undefined if the job names no folder: then there are none */
export function openAuthorizations(folder: string | undefined): Authorizations {
  const read = async (name: string): Promise<Buffer | undefined> => {
    if (folder === undefined || name === '') return undefined
    // Neither waits for the writer of a pipe, nor follows a link.
    const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
    const file = await open(join(folder, name), flags).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (file === undefined) return undefined
    try {
      const stats = await file.stat()
      if (!stats.isFile()) throw new Error('is no file')
      // An oversized file is not read, and is still reported as too long.
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
