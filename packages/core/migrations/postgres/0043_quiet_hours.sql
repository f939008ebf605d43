ALTER TABLE "messages" ADD COLUMN "deferred_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "quiet_hours" json;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "time_zone" text;