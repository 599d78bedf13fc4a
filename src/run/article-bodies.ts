/** The HTML bodies of articles that were collected, a file each, beside the lines that they come from. */
import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { ARTICLES } from '../collect/collection-text.ts'
import { openOwn, ownFileName } from '../own-files.ts'

const Article = z.looseObject({ id: z.union([z.string(), z.number()]), body: z.string() })

/** `bodies/ID.html`, as the service holds it: it is to be cleaned before it is shown. What has no body has no file. */
export async function writeBodies(folder: string): Promise<void> {
  const file = join(folder, ARTICLES)
  // As CSV a body stands in its cell.
  if (!existsSync(file)) return
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { data } = Article.safeParse(JSON.parse(line))
    if (data === undefined) continue
    const body = await openOwn(folder, join(folder, 'bodies', ownFileName(String(data.id), '.html')))
    try {
      await body.truncate(0)
      await body.write(data.body, 0)
    } finally {
      await body.close()
    }
  }
}
