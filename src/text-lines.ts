/**
 * Lines of UTF-8 that end with LF alone, as those of NDJSON do: `readline` ends one at U+2028, too, which a JSON text may hold.
 * The last line need not be ended.
 */
export async function* textLines(content: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let line = ''
  for await (const piece of content) {
    const [first = '', ...others] = decoder.decode(piece, { stream: true }).split('\n')
    line += first
    for (const next of others) {
      yield line
      line = next
    }
  }
  if (line !== '') yield line
}
