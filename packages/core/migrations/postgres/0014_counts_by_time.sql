ALTER TABLE "message_counts" DROP CONSTRAINT "message_counts_workspace_id_channel_status_pk";--> statement-breakpoint
ALTER TABLE "message_counts" ADD COLUMN "unit" text DEFAULT 'all' NOT NULL;--> statement-breakpoint
ALTER TABLE "message_counts" ADD COLUMN "since" timestamp (3) with time zone DEFAULT '1970-01-01Z' NOT NULL;--> statement-breakpoint
ALTER TABLE "message_counts" ADD COLUMN "first_id" text;--> statement-breakpoint
ALTER TABLE "message_counts" ADD COLUMN "last_id" text;--> statement-breakpoint
ALTER TABLE "message_counts" ALTER COLUMN "unit" DROP DEFAULT, ALTER COLUMN "since" DROP DEFAULT;--> statement-breakpoint
INSERT INTO message_counts (workspace_id, unit, since, channel, status, count, test_count, first_id, last_id) SELECT workspace_id, 'hour', date_trunc('hour', created_at, 'UTC'), channel, status, count(*), count(*) FILTER (WHERE livemode = false), min(id), max(id) FROM messages GROUP BY 1, 3, 4, 5;--> statement-breakpoint
INSERT INTO message_counts (workspace_id, unit, since, channel, status, count, test_count, first_id, last_id) SELECT workspace_id, 'day', date_trunc('day', since, 'UTC'), channel, status, sum(count), sum(test_count), min(first_id), max(last_id) FROM message_counts WHERE unit = 'hour' GROUP BY 1, 3, 4, 5;--> statement-breakpoint
ALTER TABLE "message_counts" ADD CONSTRAINT "message_counts_workspace_id_unit_since_channel_status_pk" PRIMARY KEY("workspace_id","unit","since","channel","status");--> statement-breakpoint
CREATE INDEX "message_counts_all" ON "message_counts" USING btree ("workspace_id","channel","status") WHERE unit = 'all';
