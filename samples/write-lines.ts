/** Writes a file in blocks; the next block is made when the last one is written, so that memory stays flat. */
import { open } from 'node:fs/promises'

const BLOCK = 256 * 1024

/** @returns the size of the file in bytes */
export async function writeLines(path: string, lines: Iterable<string>): Promise<number> {
  await using file = await open(path, 'w')
  let bytes = 0
  let parts: string[] = []
  let length = 0
  const flush = async (): Promise<void> => {
    const block = Buffer.from(parts.join(''))
    await file.writeFile(block)
    bytes += block.length
    parts = []
    length = 0
  }
  for (const line of lines) {
    parts.push(line)
    length += line.length
    if (length >= BLOCK) await flush()
  }
  await flush()
  return bytes
}
