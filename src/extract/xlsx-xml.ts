/**
 * Streams parts of a workbook as XML. Names are resolved by namespace; strict namespaces count as transitional ones. Document types are
 * refused: no entity is expanded. Of alternate content (ISO/IEC 29500-3), the fallback is read.
 */
import { SaxesParser } from 'saxes'

export type Attributes = Readonly<Record<string, string>>

/** Called in the order of the document. */
interface XmlHandler {
  /**
   * @param name local name in the namespaces of workbooks, `{namespace}name` in others
   * @param depth 1 of the root
   * @param position characters up to the end of the tag, however the document is cut
   */
  open(name: string, attributes: Attributes, depth: number, position: number): void
  text?(text: string): void
  close?(name: string, depth: number): void
}

const OWN: ReadonlySet<string> = new Set([
  'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  'http://purl.oclc.org/ooxml/spreadsheetml/main',
  'http://schemas.openxmlformats.org/package/2006/relationships',
])
const CHOICE = '{http://schemas.openxmlformats.org/markup-compatibility/2006}Choice'
const AROUND =
  /^\{http:\/\/schemas\.openxmlformats\.org\/markup-compatibility\/2006\}(?:AlternateContent|Fallback)$/

/** Most characters of a tag or a text. */
const MOST_CHARACTERS = 16 * 1024 * 1024

const isDeclaration = (key: string): boolean => key === 'xmlns' || key.startsWith('xmlns:')

/** Declarations of an element, and names by them. */
interface Scope {
  readonly depth: number
  readonly uris: ReadonlyMap<string, string>
  readonly names: Map<string, string>
  readonly outer: Scope | undefined
}

function createNames() {
  let scope: Scope = { depth: 0, uris: new Map([['', '']]), names: new Map(), outer: undefined }
  return {
    enter(attributes: Attributes, depth: number): void {
      const declared = Object.entries(attributes).filter(([key]) => isDeclaration(key))
      const uris = declared.map(([key, uri]): [string, string] => [key.slice(6), uri])
      scope = { depth, uris: new Map([...scope.uris, ...uris]), names: new Map(), outer: scope }
    },
    leave(depth: number): void {
      if (scope.depth === depth && scope.outer !== undefined) scope = scope.outer
    },
    of(written: string): string {
      const known = scope.names.get(written)
      if (known !== undefined) return known
      const colon = written.indexOf(':')
      const uri = scope.uris.get(written.slice(0, Math.max(0, colon)))
      if (uri === undefined) throw new Error('a part uses a prefix that it does not declare')
      const local = written.slice(colon + 1)
      const name = OWN.has(uri) ? local : `{${uri}}${local}`
      scope.names.set(written, name)
      return name
    },
  }
}

function createParser(handler: XmlHandler): { write(text: string): void; close(): void } {
  const parser = new SaxesParser<{ xmlns: false; position: false }>({ xmlns: false, position: false })
  const names = createNames()
  let [depth, level, quiet] = [0, 0, 0]
  /** Depth from which on nothing is level. */
  let silent = Number.POSITIVE_INFINITY
  let declares = false
  // Cheaper than a loop over the attributes of each cell.
  parser.on('attribute', ({ name }) => {
    if (name.charCodeAt(0) === 0x78 && isDeclaration(name)) declares = true
  })
  parser.on('opentag', ({ name: written, attributes }) => {
    quiet = 0
    depth++
    if (declares) names.enter(attributes, depth)
    declares = false
    if (depth >= silent) return
    const name = names.of(written)
    if (name === CHOICE) silent = depth
    else if (!AROUND.test(name)) handler.open(name, attributes, ++level, parser.position)
  })
  parser.on('closetag', ({ name: written }) => {
    quiet = 0
    if (depth === silent) silent = Number.POSITIVE_INFINITY
    else if (depth < silent) {
      const name = names.of(written)
      if (!AROUND.test(name)) {
        handler.close?.(name, level)
        level--
      }
    }
    names.leave(depth--)
  })
  const tell = (text: string): void => {
    quiet = 0
    if (depth < silent) handler.text?.(text)
  }
  parser.on('text', tell)
  parser.on('cdata', tell)
  parser.on('doctype', () => {
    throw new Error('a part has a document type, which workbooks must not have')
  })
  parser.on('error', (error) => {
    // The rest of the message may quote the document.
    const [reason] = error.message.replace(/^[\d:]+ */, '').split(/[:"'&<]/, 1)
    throw new Error(`a part is not well-formed XML: ${reason}`)
  })
  return {
    write(text) {
      quiet += text.length
      parser.write(text)
      if (quiet > MOST_CHARACTERS) throw new Error('a tag or a text in a part is longer than 16 MiB')
    },
    close: () => void parser.close(),
  }
}

/** UTF-8 or UTF-16, by the first bytes (ISO/IEC 29500-2, 8.1.4). */
function encodingOf([one, two]: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (one === 0xff || (one === 0x3c && two === 0)) return 'utf-16le'
  return one === 0xfe || one === 0 ? 'utf-16be' : 'utf-8'
}

/** Reads a whole part. @throws Error with the reason */
export async function readXml(content: AsyncIterable<Buffer>, handler: XmlHandler): Promise<void> {
  for await (const chunks of readingXml(content, handler)) if (chunks === 0) return
}

/** Reads a part. Yields the number of pieces read, from 1, for a consumer of what they held. */
export async function* readingXml(
  content: AsyncIterable<Buffer>,
  handler: XmlHandler,
): AsyncGenerator<number> {
  const parser = createParser(handler)
  let decoder: { decode(bytes?: Uint8Array, options?: { stream: boolean }): string } | undefined
  let pieces = 0
  for await (const chunk of content) {
    decoder ??= new TextDecoder(encodingOf(chunk), { fatal: true })
    parser.write(decoder.decode(chunk, { stream: true }))
    yield ++pieces
  }
  parser.write(decoder?.decode() ?? '')
  parser.close()
  yield ++pieces
}
