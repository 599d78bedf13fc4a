/** Splits UTF-8 at LF alone, for NDJSON: `readline` also splits at U+2028, which JSON may contain. The last line may lack the LF. */
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
