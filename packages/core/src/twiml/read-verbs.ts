/** One element of TwiML. `text` is its own text, without that of its children. */
export interface TwimlElement {
  name: string
  attributes: Readonly<Record<string, string>>
  text: string
  children: TwimlElement[]
}

/** A refusal of TwiML. The message names the fault, for the author of the TwiML. */
export class TwimlError extends Error {
  override readonly name = 'TwimlError'
}

const DEPTH_MAX = 4

/**
 * Reads TwiML: the verbs of its `<Response>`. Document types, entities other than the five of XML and more than four levels are
 * refused. The caller limits the length.
 * @throws TwimlError
 */
export async function readVerbs(text: string): Promise<TwimlElement[]> {
  // The parser is loaded for the first TwiML only: most services get none.
  const { SaxesParser } = await import('saxes')
  const parser = new SaxesParser()
  const document: TwimlElement = { name: '', attributes: {}, text: '', children: [] }
  const open = [document]
  const innermost = () => open.at(-1) as TwimlElement
  parser.on('error', ({ message }) => {
    throw new TwimlError(`TwiML is not well-formed: ${message.slice(0, 200)}`)
  })
  parser.on('doctype', () => {
    throw new TwimlError('TwiML must not have a document type')
  })
  parser.on('opentag', ({ name, attributes }) => {
    if (open.length > DEPTH_MAX) throw new TwimlError('TwiML has too many levels')
    const element: TwimlElement = { name, attributes, text: '', children: [] }
    innermost().children.push(element)
    open.push(element)
  })
  parser.on('closetag', () => void open.pop())
  const append = (piece: string) => {
    innermost().text += piece
  }
  parser.on('text', append)
  parser.on('cdata', append)
  parser.write(text).close()
  const [root] = document.children
  if (root?.name !== 'Response') throw unsupported(root?.name ?? '')
  checkAttributes(root, [])
  if (root.text.trim() !== '') throw new TwimlError('Text must stand in a verb')
  return root.children
}

/** The refusal of an element that may not stand where it stands. */
export function unsupported(name: string): TwimlError {
  return new TwimlError(`<${name.slice(0, 64)}> is not supported here`)
}

/**
 * Refuses attributes that are not in the list; an attribute of a pair must have its value.
 * @throws TwimlError
 */
export function checkAttributes(
  { name, attributes }: TwimlElement,
  allowed: readonly (string | readonly [string, string])[],
): void {
  for (const [attribute, value] of Object.entries(attributes)) {
    const isAllowed = allowed.some((one) =>
      typeof one === 'string' ? one === attribute : one[0] === attribute && one[1] === value,
    )
    if (isAllowed) continue
    const shown = attribute.slice(0, 64)
    throw new TwimlError(`The attribute '${shown}' of <${name.slice(0, 64)}> is not supported`)
  }
}
