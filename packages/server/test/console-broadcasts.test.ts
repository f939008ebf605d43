import type { Broadcast, TemplateVersion } from '@svc/client'
import { describe, expect, it } from 'vitest'
import { draftOf, requestOf, tagsIn, textOfTags } from '../console/pages/broadcasts/draft.ts'

const template = {
  ...{ name: 'news', version: 3 },
  variables: [{ name: 'shop', type: 'text' }],
} as unknown as TemplateVersion

const BROADCAST = {
  ...{ name: 'May', channel: 'sms', from: null, rate: 60 },
  template: {
    ...{ name: 'news', version: 2, locale: 'de' },
    variables: { shop: 5, count: 7, vip: true, items: [{ title: 'Tea' }], code: '7', none: '' },
  },
  audience: {
    tags: ['Berlin, Mitte', '5" screens', 'vip'],
    exclude_tags: ['staff'],
    attributes: { note: ' two\nlines', age: 42 },
    exclude_attributes: { note: ' a\nb', member: true },
  },
  ...{ scheduled_at: '2026-05-04T09:00:30.000Z', time_zone: null },
} as unknown as Broadcast

describe('the form of a broadcast', () => {
  const saved = (change: object, edited = BROADCAST) =>
    requestOf({ ...draftOf(edited), ...change }, { template, channel: 'sms', edited })

  it.each([null, 'recipient'] as const)(
    'keeps what the person does not change: %s',
    (time_zone) => {
      const edited = { ...BROADCAST, time_zone }
      const { body, faults } = saved({}, edited)
      expect(faults).toEqual([])
      const { name, channel, template, audience, rate, scheduled_at } = edited
      expect(body).toEqual({
        ...{ name, channel, template, audience, rate, scheduled_at },
        ...(time_zone && { time_zone }),
      })
    },
  )

  it('changes what the person changes', () => {
    const draft = draftOf(BROADCAST)
    const { body } = saved({
      values: { ...draft.values, shop: '6', count: '8', none: 'x' },
      tags: `${draft.tags}, new`,
      attributes: 'age := 43',
      withoutAttributes: 'city = Berlin\nmember := false',
      at: '2026-05-05T10:00',
    })
    expect(body).toMatchObject({
      template: {
        version: 2,
        variables: { shop: '6', count: '8', vip: true, items: [{ title: 'Tea' }], none: 'x' },
      },
      audience: {
        tags: [...(BROADCAST.audience.tags ?? []), 'new'],
        attributes: { age: 43 },
        exclude_attributes: { city: 'Berlin', member: false },
      },
    })
    expect(body.scheduled_at).toMatch(/^2026-05-0[456]T\d\d:\d\d:00\.000Z$/)
    const { version: _, ...newest } = draft
    expect(saved({ ...newest, version: undefined }).body.template).not.toHaveProperty('version')
  })

  it('reads the tags that it wrote', () => {
    const tags = ['vip', 'Berlin, Mitte', '"', '5" screens', 'a']
    expect(tagsIn(textOfTags(tags))).toEqual(tags)
    expect(tagsIn(' vip,  "a, b" ,, vip,c d ')).toEqual(['vip', 'a, b', 'c d'])
  })
})
