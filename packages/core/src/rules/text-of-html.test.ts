import { describe, expect, test } from 'vitest'
import { textOfHtml } from './text-of-html.ts'

describe('the text of an HTML e-mail', () => {
  test('has a line for each block, and links with their address', () => {
    const html = `<html><head><title>x</title><style>a > b { }</style></head><body>
      <!-- hidden --><h1>Order ready</h1><p>Dear <b>Asha</b>,<br>your order &amp; receipt.</p>
      <a class="x" href="https://shop.example/?a=1&amp;b=2">Track <i>it</i></a>
      <ul><li>Tea</li><li>Cups</li></ul><table><tr><td>Tea</td><td>2</td></tr></table>
      <img src="x.png" alt="Logo"><a href="https://shop.example">https://shop.example</a></body></html>`
    expect(textOfHtml(html)).toBe(
      [
        'Order ready\n\nDear Asha,\nyour order & receipt.\n',
        'Track it (https://shop.example/?a=1&b=2)\n\n- Tea\n- Cups\n\nTea 2\n',
        'Logohttps://shop.example',
      ].join('\n'),
    )
  })

  test('keeps placeholders and blocks', () => {
    const html =
      '<p>{{#if vip}}<b>Hi</b>{{else}}Hello{{/if}} {{name|you &amp; all}}</p><a href="{{url}}">Go</a>'
    expect(textOfHtml(html)).toBe(
      '{{#if vip}}Hi{{else}}Hello{{/if}} {{name|you & all}}\n\nGo ({{url}})',
    )
  })

  test('leaves out what is hidden', () => {
    const hidden = '<div style="color:red;Display : none"><div>preview <p>a</p></div> &zwnj;</div>'
    expect(textOfHtml(`${hidden}<p>Hi</p><span style='mso-hide:all'>b</span>`)).toBe('Hi')
    expect(textOfHtml('<p title="display:none">Hi</p><i style="display:none">b</i>')).toBe(
      'Hi\n\nb',
    )
    expect(textOfHtml('<p>Hi</p><div style="display:none">no end<p>b</p>')).toBe(
      'Hi\n\nno end\n\nb',
    )
  })

  test('reads broken HTML as far as it can', () => {
    expect(textOfHtml('1 < 2 <3 &unknown; &#xd800; &#65;<b')).toBe('1 < 2 <3 &unknown; &#xd800; A')
    expect(textOfHtml('a<style>b')).toBe('a')
    expect(textOfHtml('a<!-- b')).toBe('a')
    expect(textOfHtml('<a href="x>y">z</a>')).toBe('z (x>y)')
  })

  // Twice the input must not take much more than twice the time: a quadratic reader takes four times and more.
  test.each([
    ['brackets', '<'],
    ['tags', '<b>'],
    ['hidden elements', '<div style="display:none">'],
    ['styles', '<style></'],
    ['comments', '<!--'],
    ['quotes', '<a href="'],
    ['links', '<a href=x>a</a>'],
    ['entities', '&amp;'],
    ['blanks', ' '],
    ['cells', '<tr><td>a</td></tr>'],
  ])('reads many %s in linear time', (_, part) => {
    const cpuOf = (length: number) => {
      const html = part.repeat(Math.ceil(length / part.length))
      const began = process.cpuUsage()
      textOfHtml(html)
      const { user, system } = process.cpuUsage(began)
      return user + system
    }
    cpuOf(50_000)
    const short = Math.max(cpuOf(50_000), 20_000)
    expect(cpuOf(800_000)).toBeLessThan(short * 64)
  })
})
