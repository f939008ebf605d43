import { describe, expect, test } from 'vitest'
import { contentTemplate } from './template.ts'

const fill = (content: object, values: Record<string, string> = {}) => {
  const missing = new Set<string>()
  const template = contentTemplate(content as never)
  const filled = template.fill((name) => values[name] ?? null, missing)
  return { filled, missing: [...missing], placeholders: template.placeholders }
}

describe('a content template', () => {
  test('returns the same object if there are no placeholders', () => {
    const content = { text: 'Hello {name} }}' }
    const { filled, placeholders } = fill(content)
    expect(placeholders).toBe(0)
    expect(filled).toBe(content)
  })

  test('does not change the original content', () => {
    const content = { subject: '{{a}}', html: '<b>{{a}}</b>' }
    expect(fill(content, { a: '<&>' }).filled).toEqual({
      subject: '<&>',
      html: '<b>&lt;&amp;&gt;</b>',
    })
    expect(content).toEqual({ subject: '{{a}}', html: '<b>{{a}}</b>' })
  })

  test('names each missing variable once', () => {
    expect(fill({ subject: '{{a}}{{b|x}}', text: '{{a}}{{c}}' }).missing).toEqual(['a', 'c'])
  })

  test('names what each filling needs a value for: outside of blocks, and without a fallback', () => {
    const content = {
      subject: '{{a}}{{b|x}}',
      text: '{{#if c}}{{d}}{{else}}{{e}}{{/if}}{{a}}{{#each f}}{{g}}{{/each}}',
    }
    expect(contentTemplate(content as never, { has_blocks: true }).needed).toEqual([
      { name: 'a', field: 'subject' },
      { name: 'a', field: 'text' },
    ])
    expect(contentTemplate({ text: 'Hi' }).needed).toEqual([])
  })

  test('leaves addresses unchanged', () => {
    const content = { media: { type: 'image', url: 'https://x.example/{{a}}', caption: 'c' } }
    expect(fill(content, { a: '1' }).placeholders).toBe(0)
  })

  test('keeps a variable named __proto__', () => {
    const variables = JSON.parse('{"__proto__":"{{a}}","b":"{{a}}"}')
    const { filled } = fill({ template: { id: 't', variables } }, { a: '1' })
    expect(JSON.stringify(filled)).toBe(
      '{"template":{"id":"t","variables":{"__proto__":"1","b":"1"}}}',
    )
  })
})

const render = (content: object, values: Record<string, unknown> = {}) => {
  const missing = new Set<string>()
  const spent = { steps: 0 }
  const template = contentTemplate(content as never, { has_blocks: true })
  const lookUp = (name: string) => (Object.hasOwn(values, name) ? values[name] : null) as null
  const filled = template.fill(lookUp, missing, spent) as { text: string; html?: string }
  return { ...filled, missing: [...missing], steps: spent.steps }
}

describe('a stored template', () => {
  test('shows the branch of a condition', () => {
    const text = '{{#if vip}}Dear {{name}}{{else}}Hi{{/if}}!'
    expect(render({ text }, { vip: true, name: 'Asha' }).text).toBe('Dear Asha!')
    for (const vip of [false, 0, '', null, []]) expect(render({ text }, { vip }).text).toBe('Hi!')
    expect(render({ text }).missing).toEqual([])
  })

  test('repeats a block for each item', () => {
    const items = [
      { title: 'Tea', n: 2, tags: ['hot'] },
      { title: 'Cup', n: 1, tags: [] },
    ]
    const text =
      '{{#each items}}{{n}} {{title}} for {{who}}{{#each tags}} ({{this}}){{else}} -{{/each}}; {{/each}}'
    const { text: filled, missing } = render({ text }, { items, who: 'you' })
    expect(filled).toBe('2 Tea for you (hot); 1 Cup for you -; ')
    expect(missing).toEqual([])
  })

  test('names lists and fields of items that have no value', () => {
    const text = '{{#each items}}{{price}}{{/each}}{{#each more}}{{/each}}{{items}}'
    expect(render({ text }, { items: [{}] }).missing).toEqual(['price', 'more', 'items'])
  })

  test('escapes values in HTML only, in items too', () => {
    const part = '{{#each l}}{{this}}{{x|<hr>}}{{/each}}'
    const { text, html } = render({ text: part, html: part }, { l: ['<b>'] })
    expect([text, html]).toEqual(['<b><hr>', '&lt;b&gt;<hr>'])
  })

  test('reads no property that a value inherits', () => {
    const text =
      '{{constructor|-}}{{__proto__|-}}{{toString|-}}{{length|-}}{{#each l}}{{constructor|-}}{{__proto__|-}}{{length|-}}{{/each}}'
    expect(render({ text }, { l: [{}, 'ab'] }).text).toBe('----------')
  })

  test.each([
    ['{{#if a}}', '{{#if a}} has no {{/if}}'],
    ['{{/if}}', '{{/if}} ends no {{#if}}'],
    ['{{#if a}}{{/each}}', '{{/each}} ends no {{#each}}'],
    ['{{else}}', '{{else}} belongs to no block'],
    ['{{#if a}}{{else}}{{else}}{{/if}}', '{{else}} belongs to no block'],
    ['{{#if a.b[0]}}{{/if}}', 'needs the name of a variable'],
    ['{{#with a}}', 'is not a placeholder'],
    ['{{> partial}}', 'is not a placeholder'],
    ['{{#if a}}'.repeat(6), 'at most 5 blocks in one another'],
    ['{{a}}'.repeat(1001), 'at most 1000 placeholders'],
  ])('refuses %s', (text, message) => {
    expect(() => contentTemplate({ text }, { has_blocks: true })).toThrow(message)
  })

  test('has no blocks in a bulk', () => {
    expect(() => contentTemplate({ text: '{{#if a}}{{/if}}' })).toThrow('is not a placeholder')
  })

  test('ends a filling that takes too many steps', () => {
    const l = Array<number>(1000).fill(1)
    const text = '{{#each l}}{{#each l}}{{/each}}{{/each}}'
    expect(() => render({ text }, { l })).toThrow('more than 20000 steps')
  })

  test('ends a filling that is too long', () => {
    const l = Array<string>(1000).fill('x'.repeat(10_000))
    const { text, steps } = render({ text: '{{#each l}}{{this}}{{/each}}' }, { l })
    expect(text.length).toBeLessThan(2.2 * 2 ** 20)
    expect(steps).toBeLessThan(500)
  })
})
