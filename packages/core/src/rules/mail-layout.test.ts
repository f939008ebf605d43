import { describe, expect, it } from 'vitest'
import { defaultLayout, inLayout, isDocument, placesIn, withPreviewText } from './mail-layout.ts'
import { textOfHtml } from './text-of-html.ts'

describe('a layout', () => {
  it('has the HTML at its place, with the same placeholder of the HTML as it is', () => {
    const layout = '<i>{{ content }}</i>{{content|x}}'
    expect(placesIn(layout)).toBe(1)
    expect(placesIn('{{content}}{{content}}')).toBe(2)
    expect(placesIn('{{contents}}')).toBe(0)
    expect(inLayout(layout, '<p>$& {{content}}</p>')).toBe(
      '<i><p>$& {{content}}</p></i>{{content|x}}',
    )
  })

  it.each([
    ['<p>a</p><header>b</header>', false],
    ['<!DOCTYPE html><p>a</p>', true],
    ['<HTML lang="en">', true],
    ['<p>a</p><body>', true],
    ['<head>', true],
  ])('is around a part of a document: %s', (html, expected) => {
    expect(isDocument(html)).toBe(expected)
  })
})

describe('the preview text', () => {
  it.each([
    ['<p>a</p>', /^<div style="display:none/],
    ['<!doctype html><html><body class="a">\n<p>', /<body class="a"><div style="display:none/],
    ['<html><head><title>a</title></head><p>', /<\/head><div style="display:none/],
    ['<header>a</header>', /^<div style="display:none/],
  ])('is the beginning of the body of %s', (html, expected) => {
    expect(withPreviewText(html, 'Soon')).toMatch(expected)
  })

  it('is escaped, keeps its placeholders, and is not in the plain text', () => {
    const html = withPreviewText('<p>Hello</p>', 'a < b & {{name|you}}')
    expect(html).toContain('>a &lt; b &amp; {{name|you}} &#8199;')
    expect(textOfHtml(html)).toBe('Hello')
  })

  it('fills the line beside the subject', () => {
    const [, padding = ''] = /Soon( .*)<\/div>/.exec(withPreviewText('<p>a</p>', 'Soon')) ?? []
    expect(padding.match(/&#8199;/g)?.length).toBeGreaterThanOrEqual(100)
  })

  it('takes time that grows with the length', () => {
    // Quadratic work of this size takes longer than a test may.
    const times = 2_000_000
    for (const part of ['<body ', '</head ', '<body', '{{ ', '{{content ', '<head']) {
      const html = part.repeat(times)
      expect(withPreviewText(html, 'a').length).toBeGreaterThan(html.length)
      expect(placesIn(html)).toBe(0)
      isDocument(html)
    }
  })
})

describe('the built-in layout', () => {
  it.each([
    ['en', '<html lang="en" dir="ltr">', 'left'],
    ['de-AT', '<html lang="de-AT" dir="ltr">', 'left'],
    ['ar', '<html lang="ar" dir="rtl">', 'right'],
    ['ur-PK', '<html lang="ur-PK" dir="rtl">', 'right'],
    ['az-Arab', '<html lang="az-Arab" dir="rtl">', 'right'],
  ])('in %s has the direction of the script', (locale, tag, side) => {
    const layout = defaultLayout(locale)
    expect(layout).toContain(tag)
    expect(layout).toContain(`<td align="${side}" class="svc-content">`)
    expect(placesIn(layout)).toBe(1)
  })

  it('has colours with a contrast of at least 4.5 in light and dark mode', () => {
    const [light = '', dark = ''] = defaultLayout('en').split('@media (prefers-color-scheme: dark)')
    for (const css of [light, dark]) {
      const page = colourOf(css, '.svc-page', 'background-color')
      const card = colourOf(css, '.svc-card', 'background-color')
      const pairs: [string, string][] = [
        [colourOf(css, '.svc-page', 'color'), page],
        [colourOf(css, '.svc-content', 'color'), card],
        [colourOf(css, 'h1', 'color'), card],
        [colourOf(css, 'a', 'color'), card],
        [colourOf(css, 'a', 'color'), page],
        [colourOf(css, '.muted', 'color'), card],
        [colourOf(css, '.button', 'color'), colourOf(css, '.button', 'background-color')],
      ]
      for (const [ink, paper] of pairs) {
        expect(contrastOf(ink, paper), `${ink} on ${paper}`).toBeGreaterThanOrEqual(4.5)
      }
    }
  })
})

/** The first colour that a rule with the selector sets. */
function colourOf(css: string, selector: string, property: string): string {
  for (const [, selectors = '', body = ''] of css.matchAll(/([^{}]+)\{([^{}]*)\}/g)) {
    const names = selectors.split(',').map((one) => one.trim())
    const value = new RegExp(`(?:^|[;\\s])${property}: (#[0-9a-f]{6})`).exec(body)?.[1]
    if (names.includes(selector) && value) return value
  }
  throw new Error(`no ${property} of ${selector}`)
}

/** Source: WCAG 2.2, contrast ratio. */
function contrastOf(one: string, other: string): number {
  const [high = 0, low = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => b - a)
  return (high + 0.05) / (low + 0.05)
}

function luminanceOf(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
