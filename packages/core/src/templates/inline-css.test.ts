import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCssInliner } from './inline-css.ts'

const inlineCss = createCssInliner()

async function inlined(html: string): Promise<string> {
  const result = await inlineCss('w', [html])
  if ('fault' in result) throw new Error(result.fault)
  return result.htmls[0] as string
}

/** Takes minutes: each rule holds for each element. */
const SLOW = `<style>${'p{color:red}'.repeat(6_000)}</style>${'<p>a</p>'.repeat(6_000)}`

let requests = 0
let url = ''
const server = createServer((_, response) => {
  requests += 1
  response.end('p{color:green}')
})
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

describe('inlined CSS', () => {
  it('is in the attributes; what no attribute can have stays in <style>', async () => {
    const html = await inlined(
      `<!doctype html><html><head><style>p{color:#222!important;margin:0}.a{color:blue}p.a{margin:2px}a:hover{color:red}
@media (prefers-color-scheme:dark){p{color:#eee!important}}</style></head><body><p class="a" style="padding:1px">x</p></body></html>`,
    )
    expect(html).toMatch(/^<!doctype html><html><head><style>/)
    expect(html).toContain('<p class="a" style="margin: 2px; padding: 1px; color: #222;">x</p>')
    expect(html).toMatch(/a:hover \{\s*color: red;\s*\}/)
    // The colour of the attribute has no `!important`, so that the one of dark mode comes before it.
    expect(html).toMatch(/@media \(prefers-color-scheme:dark\) \{\s*p \{\s*color: #eee!important;/)
    expect(html).not.toContain('.a {')
  })

  it('leaves placeholders, blocks, comments and entities where they are', async () => {
    const body = `<!--[if mso]><table><tr><td><![endif]--><table>{{#each items}}<tr><td>{{title|"&"}} &amp; &nbsp;é</td></tr>{{else}}<tr></tr>{{/each}}</table><a href="{{url}}?a=1&amp;b={{#if y}}2{{/if}}">{{ name }}</a><br>`
    expect(await inlined(`<style>i{color:red}</style>${body}`)).toBe(body)
    expect(await inlined('<style>a{color:{{brand|#06c}}}</style><a>x</a>')).toBe(
      '<a style="color: {{brand|#06c}};">x</a>',
    )
    expect(
      await inlined('<style>a{color:red}</style><a {{#if b}}rel="{{b}}"{{/if}}>SVCPLACE0_</a>'),
    ).toBe('<a {{#if b}}rel="{{b}}" {{/if}} style="color: red;">SVCPLACE0_</a>')
  })

  it('keeps the quotation marks of a fallback out of an attribute', async () => {
    expect(
      await inlined(
        `<style>a{font-family:{{f|"Arial"}}}@media print{a{font-family:{{f|"Arial"}}}}</style><a title='{{t|"x"}}'>{{n|"y"}}</a>`,
      ),
    ).toMatch(
      /^<style>\s*@media print \{\s*a \{\s*font-family: \{\{f\|"Arial"\}\};?\s*\}\s*\}\s*<\/style><a title="\{\{t\|&quot;x&quot;\}\}" style="font-family: \{\{f\|&quot;Arial&quot;\}\};">\{\{n\|"y"\}\}<\/a>$/,
    )
  })

  it('fetches nothing', async () => {
    const links = `<link rel="stylesheet" href="${url}/a.css"><img src="${url}/a.png">`
    const html = await inlined(
      `<html><head>${links}<style>@import url(${url}/b.css);p{background:url(${url}/c.png)}</style></head><body><p>x</p></body></html>`,
    )
    expect(html).toContain(links)
    expect(html).not.toContain('green')
    expect(requests).toBe(0)
  })

  it('ends after its time, names the HTML, and leaves the event loop free', async () => {
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 10)
    const inlineFor = createCssInliner(1_000)
    const fast = '<style>p{color:red}</style><p>a</p>'
    const result = await inlineFor('w', [fast, SLOW])
    clearInterval(timer)
    expect(result).toEqual({ at: 1, fault: 'it takes more than 1 s' })
    expect(turns).toBeGreaterThan(5)
    expect(await inlineFor('w', [fast])).toEqual({ htmls: ['<p style="color: red;">a</p>'] })
  })

  it('is made in turns by workspaces', async () => {
    const done: string[] = []
    const of = (workspace: string) =>
      inlineCss(workspace, ['<style>p{color:red}</style><p>a</p>']).then(() => done.push(workspace))
    await Promise.all([of('a'), of('a'), of('a'), of('b')])
    expect(done.indexOf('b')).toBeLessThan(2)
  })
})
