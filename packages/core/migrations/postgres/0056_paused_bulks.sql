ALTER TABLE "bulks" ADD COLUMN "paused_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "bulks" ADD COLUMN "next_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "bulks_paused" ON "bulks" USING btree ("workspace_id","id") WHERE paused_at is not null;--> statement-breakpoint
CREATE INDEX "bulks_due" ON "bulks" USING btree ("next_at") WHERE next_at is not null;