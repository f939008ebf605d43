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
