import { invalid, type SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Content } from '../contract/resources/content.ts'
import type { TemplateItem, TemplateValue } from '../contract/resources/template-use.ts'

/** Returns the value of a variable in a field of the content, or null. Only stored templates have lists. */
export type LookUp = (name: string, field: string) => TemplateValue

/** A content with placeholders. */
export interface ContentTemplate {
  /** The number of placeholders and blocks. If it is 0, every filling returns the same object. */
  placeholders: number
  /** The placeholders that each filling needs a value for, with their fields: outside of blocks, and without a fallback. */
  needed: readonly { name: string; field: string }[]
  /**
   * Fills in the placeholders. A placeholder with no value and no fallback stays empty and is added to `missing`.
   * `spent.steps` grows by the work.
   * @throws SvcError `validation_error` for more than `LIMITS.template_steps` steps.
   */
  fill(lookUp: LookUp, missing: Set<string>, spent?: { steps: number }): Content
}

/** What one filling has so far. */
interface Filling {
  lookUp: LookUp
  missing: Set<string>
  steps: number
}

type Fill = (filling: Filling) => unknown

/** The maximum number of missing variables that an error names. */
const NAMED_MAX = 20

/** The variables without a value, for an error. */
export function namesOf(missing: ReadonlySet<string>): string {
  const names = [...missing].slice(0, NAMED_MAX).map((name) => `{{${name}}}`)
  const more = missing.size - names.length
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** The fields that recipients read. In addresses and names, braces are plain characters. */
const FILLED =
  /^(?:text|html|subject|preview_text|media\.caption|media\.filename|template\.variables\..+)$/s

interface Parsing {
  placeholders: number
  needed: { name: string; field: string }[]
  /** Whether `{{#if}}` and `{{#each}}` are blocks; otherwise they are faults. */
  has_blocks: boolean
  /** The place of the content in the request. */
  place: string
}

/**
 * Parses the placeholders of a content, once for all recipients. With `has_blocks`, as in stored templates, also
 * `{{#if name}}`, `{{else}}`, `{{/if}}`, `{{#each name}}` and `{{/each}}`.
 * @throws SvcError `validation_error` for `{{` that begins no placeholder, so that no recipient reads `{{#if}}`, for
 * blocks that do not match, and for more than `LIMITS.bulk_placeholders` placeholders and blocks.
 */
export function contentTemplate(
  content: Content,
  { has_blocks = false, place = 'content' }: { has_blocks?: boolean; place?: string } = {},
): ContentTemplate {
  const parsing: Parsing = { placeholders: 0, needed: [], has_blocks, place }
  const fill = fillOf(content, [], parsing)
  const { placeholders, needed } = parsing
  if (fill === null) return { placeholders: 0, needed, fill: () => content }
  return {
    placeholders,
    needed,
    fill(lookUp, missing, spent) {
      const filling = { lookUp, missing, steps: 0 }
      const filled = fill(filling) as Content
      if (spent) spent.steps += filling.steps
      return filled
    },
  }
}

function fillOf(value: unknown, path: readonly string[], parsing: Parsing): Fill | null {
  if (typeof value === 'string') {
    const name = path.join('.')
    return FILLED.test(name) ? textTemplate(value, name, parsing) : null
  }
  if (typeof value !== 'object' || value === null) return null
  const fills = Object.entries(value).flatMap(([key, inner]): [string, Fill][] => {
    const fill = fillOf(inner, [...path, key], parsing)
    return fill ? [[key, fill]] : []
  })
  if (fills.length === 0) return null
  return (filling) => {
    // The spread copies a key named `__proto__` as a property, so the assignment below does not set the prototype.
    const filled: Record<string, unknown> = { ...value }
    for (const [key, fill] of fills) filled[key] = fill(filling)
    return filled
  }
}

/**
 * @throws SvcError `validation_error` for braces that recipients would read: `{{` in a field that no filling changes, such as an
 * address or a header, and `{{{`, by which other template languages insert a value that is not escaped.
 */
export function checkBraces(content: Content, place = 'content'): void {
  const check = (value: unknown, path: readonly string[]): void => {
    const name = path.join('.')
    if (typeof value === 'string') {
      const isFilled = FILLED.test(name)
      if (!value.includes(isFilled ? '{{{' : '{{')) return
      throw refusal(
        `${place}.${name}`,
        isFilled
          ? 'a placeholder has two braces, such as {{name}}: it must not have "{{{"'
          : 'no placeholder is filled in here, so it must not have "{{"',
      )
    }
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) check(inner, [...path, key])
  }
  check(content, [])
}

interface Placeholder {
  kind: 'value'
  name: string
  fallback: string | null
}

interface Block {
  kind: 'if' | 'each'
  name: string
  body: Node[]
  /** What follows `{{else}}`; null without one. */
  otherwise: Node[] | null
}

type Node = string | Placeholder | Block

const TAG = /\{\{([^{}]*)\}\}/g
const NAME = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]*$/u
const BLOCK = /^#(if|each)\s+(\S+)$/
const END = /^\/(if|each)$/

/** The longest text of any channel. */
const FILLED_LENGTH_MAX = LIMITS.email_body_bytes

/** Parses the placeholders of a text; null if it has none. */
function textTemplate(text: string, path: string, parsing: Parsing): Fill | null {
  const refuse = (what: string) => refusal(`${parsing.place}.${path}`, what)
  const nodes: Node[] = []
  const open: Block[] = []
  let into = nodes
  let end = 0
  const addText = (literal: string) => {
    if (literal.includes('{{')) throw refuse('"{{" must begin a placeholder such as {{name}}')
    if (literal !== '') into.push(literal)
  }
  for (const match of text.matchAll(TAG)) {
    if (++parsing.placeholders > LIMITS.bulk_placeholders) {
      throw refuse(`it must have at most ${LIMITS.bulk_placeholders} placeholders`)
    }
    addText(text.slice(end, match.index))
    end = match.index + match[0].length
    const inside = match[1] as string
    const tag = inside.trim()
    const current = open.at(-1)
    const [, begun, of = ''] = (parsing.has_blocks && BLOCK.exec(tag)) || []
    const [, ended] = (parsing.has_blocks && END.exec(tag)) || []
    if (begun) {
      if (open.length >= LIMITS.template_depth) {
        throw refuse(`it must have at most ${LIMITS.template_depth} blocks in one another`)
      }
      if (!isName(of)) throw refuse(`{{${inside}}} needs the name of a variable`)
      const block: Block = { kind: begun as Block['kind'], name: of, body: [], otherwise: null }
      into.push(block)
      open.push(block)
      into = block.body
    } else if (ended) {
      if (current?.kind !== ended) throw refuse(`{{/${ended}}} ends no {{#${ended}}}`)
      open.pop()
      const outer = open.at(-1)
      into = outer ? (outer.otherwise ?? outer.body) : nodes
    } else if (parsing.has_blocks && tag === 'else') {
      if (!current || current.otherwise) throw refuse('{{else}} belongs to no block')
      current.otherwise = []
      into = current.otherwise
    } else {
      const placeholder = placeholderOf(inside, refuse)
      const { name, fallback } = placeholder
      if (fallback === null && !current) parsing.needed.push({ name, field: path })
      into.push(placeholder)
    }
  }
  addText(text.slice(end))
  const [unended] = open
  if (unended) throw refuse(`{{#${unended.kind} ${unended.name}}} has no {{/${unended.kind}}}`)
  if (nodes.every((node) => typeof node === 'string')) return null
  const encode = path === 'html' ? escapeHtml : String
  return (filling) => new Rendering(filling, { field: path, encode }).textOf(nodes)
}

/** The filling of one text. */
class Rendering {
  readonly #filling: Filling
  readonly #field: string
  readonly #encode: (value: string) => string
  /** The items of the blocks around the current place. */
  readonly #items: TemplateItem[] = []
  #text = ''

  constructor(
    filling: Filling,
    { field, encode }: { field: string; encode: (value: string) => string },
  ) {
    this.#filling = filling
    this.#field = field
    this.#encode = encode
  }

  textOf(nodes: readonly Node[]): string {
    this.#add(nodes)
    return this.#text
  }

  #add(nodes: readonly Node[]): void {
    for (const node of nodes) {
      // A text longer than any channel's limit is refused in any case, so its rest is not filled in.
      if (this.#text.length > FILLED_LENGTH_MAX) return
      if (typeof node === 'string') {
        this.#text += node
        continue
      }
      this.#step()
      if (node.kind === 'value') this.#addValue(node)
      else if (node.kind === 'if')
        this.#add(this.#isTrue(node.name) ? node.body : otherwiseOf(node))
      else this.#addEach(node)
    }
  }

  #addValue({ name, fallback }: Placeholder): void {
    const value = this.#valueOf(name)
    // The author of the template wrote the fallback, so it is not escaped.
    if (value !== null && typeof value !== 'object') this.#text += this.#encode(String(value))
    else if (fallback !== null) this.#text += fallback
    else this.#filling.missing.add(name)
  }

  #addEach(block: Block): void {
    const list = this.#valueOf(block.name)
    if (!isList(list)) {
      this.#filling.missing.add(block.name)
      return
    }
    if (list.length === 0) this.#add(otherwiseOf(block))
    for (const item of list) {
      if (this.#text.length > FILLED_LENGTH_MAX) return
      this.#step()
      this.#items.push(item)
      this.#add(block.body)
      this.#items.pop()
    }
  }

  #isTrue(name: string): boolean {
    const value = this.#valueOf(name)
    return isList(value) ? value.length > 0 : Boolean(value)
  }

  /** The value in the item of the innermost block that has one, or else the value that `lookUp` returns. */
  #valueOf(name: string): TemplateValue {
    for (let i = this.#items.length - 1; i >= 0; i--) {
      const item = this.#items[i] as TemplateItem
      if (typeof item === 'object' && item !== null) {
        const value = Object.hasOwn(item, name) ? item[name] : null
        if (value !== null && value !== undefined) return value
      } else if (name === 'this') return item
    }
    return this.#filling.lookUp(name, this.#field)
  }

  #step(): void {
    if (++this.#filling.steps > LIMITS.template_steps) throw tooManySteps()
  }
}

function isList(value: TemplateValue): value is readonly TemplateItem[] {
  return Array.isArray(value)
}

function otherwiseOf({ otherwise }: Block): readonly Node[] {
  return otherwise ?? []
}

function tooManySteps(): SvcError {
  return invalid(
    'template.variables',
    `The template makes more than ${LIMITS.template_steps} steps with these variables: shorten their lists`,
  )
}

function isName(name: string): boolean {
  return name.length <= LIMITS.bulk_variable_name_length && NAME.test(name)
}

function placeholderOf(inside: string, refuse: (what: string) => SvcError): Placeholder {
  const bar = inside.indexOf('|')
  const name = (bar === -1 ? inside : inside.slice(0, bar)).trim()
  if (!isName(name)) {
    throw refuse(`{{${inside}}} is not a placeholder such as {{name}} or {{name|fallback}}`)
  }
  return { kind: 'value', name, fallback: bar === -1 ? null : inside.slice(bar + 1).trim() }
}

function refusal(path: string, what: string): SvcError {
  return invalid(path, `${path}: ${what}`)
}

/** `replaceAll` with texts takes a tenth of the time of a regular expression with a function. */
export function escapeHtml(value: string): string {
  return value
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
