#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_exports.py [--arrows] BUILD PROGRAM... - two timelines, read by other people's code, hold the same.

Runs each program (an example, or a path below BUILD) under the library; the environment leads to simgpu. The .pftrace
is parsed with the protobuf classes of the Python package `perfetto`, the .json.gz with the json module. Slices are
compared as (name, start, duration, file, line), instants as (name, time), arrows as (name, start, name, start) of their
ends; nesting is checked on every track of both. With --arrows there must be some, from the host's launches to their
kernels; without the host's clock beside the device's, host calls are not drawn. Exit status 77 when the package is not installed.
"""
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
except ImportError:
    print("the Python package perfetto is not installed (scripts/setup installs it into build/venv)")
    sys.exit(77)

BEGIN, END, INSTANT = 1, 2, 3


class Sequence:
    """What a packet sequence has agreed on: its incremental clock, its interned names, its default track."""

    def __init__(self):
        self.time = 0
        self.names = {}
        self.annotations = {}
        self.strings = {}
        self.track = 0
        self.clock = None
        self.incremental = set()


def annotation_value(annotation, sequence):
    kind = annotation.WhichOneof("value")
    if kind == "string_value_iid":
        return sequence.strings[annotation.string_value_iid]
    return getattr(annotation, kind)


def arrows_of(flows):
    for ends in flows.values():
        assert set(ends) == {"from", "to"}, "an arrow lacks an end"
    return [ends["from"] + ends["to"] for ends in flows.values()]


def read_pftrace(path):
    trace = pb.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    sequences = collections.defaultdict(Sequence)
    tracks, stacks, slices, instants = {}, collections.defaultdict(list), [], []
    flows = collections.defaultdict(dict)
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            parent = packet.track_descriptor.parent_uuid
            assert parent == 0 or parent in tracks, "a track comes before its parent"
        sequence = sequences[packet.trusted_packet_sequence_id]
        if packet.sequence_flags & 1:
            sequence = sequences[packet.trusted_packet_sequence_id] = Sequence()
        for clock in packet.clock_snapshot.clocks:
            if clock.is_incremental:
                sequence.incremental.add(clock.clock_id)
                sequence.time = clock.timestamp
        if packet.HasField("trace_packet_defaults"):
            sequence.clock = packet.trace_packet_defaults.timestamp_clock_id
            sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        for entry in packet.interned_data.event_names:
            sequence.names[entry.iid] = entry.name
        for entry in packet.interned_data.debug_annotation_names:
            sequence.annotations[entry.iid] = entry.name
        for entry in packet.interned_data.debug_annotation_string_values:
            sequence.strings[entry.iid] = entry.str.decode()
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        clock = packet.timestamp_clock_id or sequence.clock
        if clock in sequence.incremental:
            sequence.time = (sequence.time + packet.timestamp) % 2**64  # a step back wraps, as in the viewer
            time = sequence.time
        else:
            time = packet.timestamp
        track = event.track_uuid or sequence.track
        assert track in tracks, "an event on a track that was not described"
        name = event.name or (sequence.names[event.name_iid] if event.name_iid else "")
        args = {}
        for annotation in event.debug_annotations:
            key = annotation.name or sequence.annotations[annotation.name_iid]
            args[key] = annotation_value(annotation, sequence)
        if event.type == BEGIN:
            stack = stacks[track]
            assert not stack or stack[-1][1] <= time, "a slice begins before the one that holds it"
            stack.append((name, time, args))
            for end, ids in (("from", event.flow_ids), ("to", event.terminating_flow_ids)):
                for flow in ids:
                    assert end not in flows[flow], "an arrow has two ends of one kind"
                    flows[flow][end] = (name, time)
        elif event.type == END:
            name, start, args = stacks[track].pop()
            assert time >= start, "a slice ends before it begins"
            slices.append((name, start, time - start, args.get("file"), args.get("line")))
        elif event.type == INSTANT:
            instants.append((name, time))
    assert not any(stacks.values()), "a slice was begun and never ended"
    names = collections.Counter((t.parent_uuid, t.name) for t in tracks.values())
    assert max(names.values()) == 1, "two tracks of one parent have the same name"
    return slices, instants, arrows_of(flows)


def read_json(path):
    with gzip.open(path, "rt") as file:
        # Times have three decimals of a microsecond: taken as text, they are exact nanoseconds.
        trace = json.load(file, parse_float=lambda text: int(text.replace(".", "")) if len(text.split(".")[1]) == 3 else float(text))
    base = int(trace["baseTimeNanoseconds"])
    slices, instants = [], []
    tracks, begins, flows = collections.defaultdict(list), {}, collections.defaultdict(dict)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            args = event.get("args", {})
            slices.append((event["name"], base + event["ts"], event["dur"], args.get("file"), args.get("line")))
            begins[event["pid"], event["tid"], event["ts"]] = event["name"]
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
            assert 0 < event["pid"] < 2**32 and 0 < event["tid"] < 2**32
        elif event["ph"] in "iI":
            instants.append((event["name"], base + event["ts"]))
        elif event["ph"] in "sf":
            end = "from" if event["ph"] == "s" else "to"
            assert end == "from" or event["bp"] == "e", "an arrow would bind to the next slice"
            assert end not in flows[event["id"]], "an arrow has two ends of one kind"
            name = begins[event["pid"], event["tid"], event["ts"]]
            flows[event["id"]][end] = (name, base + event["ts"])
    for spans in tracks.values():
        stack = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or end <= stack[-1], "two slices of a track overlap"
            stack.append(end)
    return slices, instants, arrows_of(flows)


def compare(base, wants_arrows):
    proto_slices, proto_instants, proto_arrows = read_pftrace(base + ".pftrace")
    json_slices, json_instants, json_arrows = read_json(base + ".json.gz")
    of_proto, of_json = collections.Counter(proto_slices), collections.Counter(json_slices)
    difference = (of_proto - of_json) + (of_json - of_proto)
    difference += (collections.Counter(proto_instants) - collections.Counter(json_instants))
    difference += (collections.Counter(json_instants) - collections.Counter(proto_instants))
    difference += (collections.Counter(proto_arrows) - collections.Counter(json_arrows))
    difference += (collections.Counter(json_arrows) - collections.Counter(proto_arrows))
    for slice_ in list(difference)[:10]:
        print("only in one of the two:", slice_)
    for from_name, from_time, to_name, to_time in proto_arrows:
        assert from_name in ("launch " + to_name, "cuGraphLaunch"), f"an arrow from {from_name} to {to_name}"
        assert from_time <= to_time, f"{to_name} starts before it was launched"
    print(f"{len(proto_slices)} slices and {len(proto_instants)} instants in the .pftrace, "
          f"{len(json_slices)} and {len(json_instants)} in the .json.gz, {len(proto_arrows)} arrows, "
          f"{sum(difference.values())} differ")
    return not difference and len(proto_slices) > 0 and \
        (len(proto_arrows) > 0 or not wants_arrows)


def main():
    wants_arrows = sys.argv[1] == "--arrows"
    build, *examples = sys.argv[2 if wants_arrows else 1:]
    good = bool(examples)
    with tempfile.TemporaryDirectory() as folder:
        for example in examples:
            base = os.path.join(folder, os.path.basename(example))
            program = example if "/" in example else os.path.join("device_rt", "examples", example)
            subprocess.run([os.path.join(build, "decoder", "warpspan"), "run", "--out", base, "--",
                            os.path.join(build, program)], check=True, env={**os.environ, "SIMGPU_DEVICES": "2"})
            good = compare(base, wants_arrows) and good
    sys.exit(not good)


if __name__ == "__main__":
    main()
